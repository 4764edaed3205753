/** One server of each kind for all workers: a sample is parsed once, not once per worker. */
import { serve, SAMPLES, tensorboard } from "./servers";

/** Where the workers, which inherit the environment, read the addresses. */
export const STANDALONE_URL = "E2E_STANDALONE_URL";
export const BOARD_URL = "E2E_BOARD_URL";

export default async function globalSetup(): Promise<() => Promise<void>> {
  const servers = await Promise.all([serve(SAMPLES), tensorboard(SAMPLES)]);
  [process.env[STANDALONE_URL], process.env[BOARD_URL]] = servers.map(({ url }) => url);
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
}

/** Where the documentation says more: a link if it has a site, else the file of the repository, as text. */
interface Props {
  readonly address: string;
  /** What the link is called; the file is called by its path. */
  readonly children: string;
}

export function HelpLink({ address, children }: Props) {
  if (!isOnSite(address)) return <code>{address}</code>;
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {children} ↗
    </a>
  );
}

/** Files of the repository have no address that a browser could open. */
export function isOnSite(address: string): boolean {
  return /^https?:\/\//.test(address);
}

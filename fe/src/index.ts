/**
 * The module TensorBoard imports into the frame of a plugin (`es_module_path`): it calls `render()`.
 * It is tiny and loads the application chunk by its hashed name, so that a cached copy never loads an old one.
 */
export async function render(): Promise<void> {
  const moduleUrl = import.meta.url;
  const { mount } = await import("./app/mount");
  // The routes of the plugin are relative to this module.
  mount(new URL(".", moduleUrl));
}

/**
 * The module TensorBoard imports into the frame of a plugin (`es_module_path`): it calls `render()`.
 * Kept tiny, so that a changed application chunk is found under its changed name.
 */
export async function render(): Promise<void> {
  const here = import.meta.url;
  const { mount } = await import("./app/mount");
  // The routes of the plugin lie beside this module.
  mount(new URL(".", here));
}

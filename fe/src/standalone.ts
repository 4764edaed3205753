/** The page of `torch-tb-profiler serve`. */
const { mount } = await import("./app/mount");

const declared = document.querySelector<HTMLMetaElement>('meta[name="api-base"]')?.content;
mount(new URL(declared ?? "api/", document.baseURI));

export {};

// Node caches this program's compiled code, types stripped, to speed up the next start: imported before the
// modules that take long to load. The cache is beside the packages, so that reinstalling them removes it.
import { enableCompileCache } from "node:module";
import { join } from "node:path";

const { directory } = enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compiled"));
// Threads get it through their environment. Where the cache cannot be written, everything works without it.
if (directory) process.env["NODE_COMPILE_CACHE"] ??= directory;

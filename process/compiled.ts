// Node keeps what it has compiled of this program, types stripped, so that the next start need not: imported before
// whatever takes long to load. Beside the packages, whose reinstallation throws it away.
import { enableCompileCache } from "node:module";
import { join } from "node:path";

const { directory } = enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compiled"));
// Threads learn of it from their environment. Where nothing can be kept, everything works as without it.
if (directory) process.env["NODE_COMPILE_CACHE"] ??= directory;

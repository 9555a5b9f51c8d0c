// Bundles each library with what it imports into a file of dist.
import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { bundle, write } from "./bundle.js";

await bundle(build, "oauth4webapi", "oauth4webapi.mjs");
// openid-client is a layer on oauth4webapi, and asks its errors for their classes.
await bundle(build, "openid-client", "openid-client.mjs", { external: ["oauth4webapi"] });
// axe-core is for pages, and is committed as it is.
write("axe-core.js", `${readFileSync("node_modules/axe-core/axe.min.js", "utf8").trim()}\n`, ["node_modules/axe-core"]);

// Bundles oidc-provider with what it imports into a file of dist. What it stores is kept by the names of classes.
import { build } from "esbuild";
import { banner, bundle } from "../bundle.js";

await bundle(build, "oidc-provider", "oidc-provider.mjs", { keepNames: true, banner });

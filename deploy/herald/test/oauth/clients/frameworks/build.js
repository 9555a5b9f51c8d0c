// Bundles each library with what it imports into a file of dist.
import { build } from "esbuild";
import { banner, bundle } from "../bundle.js";

for (const library of ["express", "express-oauth2-jwt-bearer", "express-openid-connect", "express-session", "passport", "passport-openidconnect"]) {
  await bundle(build, library, `${library}.cjs`, { format: "cjs", keepNames: true });
}
await bundle(build, "@auth/express", "@auth-express.mjs", { keepNames: true, banner });
await bundle(build, "jose", "jose.mjs", { keepNames: true, banner });
await bundle(build, "oidc-client-ts", "oidc-client-ts.mjs", { keepNames: true, platform: "browser", target: "es2022" });

// Bundles each library with what it imports into a file of dist, which begins with the hashes of its sources and ends
// with the licences.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const sources = ["build.js", "package.json", "package-lock.json"];
const hash = (name) => createHash("sha256").update(readFileSync(name)).digest("hex");
const head = sources.map((name) => `// ${hash(name)} ${name}\n`).join("");

// licence returns the licence of a package: its file, or what package.json says if it comes without one.
const licence = (folder) => {
  const name = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  if (name) return readFileSync(`${folder}/${name}`, "utf8").trim();
  return JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).license;
};

// packageOf returns the folder of the package that a source belongs to.
const packageOf = (source) => {
  const folder = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(source)[0];
  if (!existsSync(`${folder}/package.json`)) throw new Error(`${source} belongs to no package`);
  return folder;
};

// What runs in browsers, and not in Node.js.
const pages = ["oidc-client-ts"];

// Some of what the modules import asks for modules of Node.js by require, which modules have not.
const banner = { js: 'import{createRequire as requireOf}from"node:module";const require=requireOf(import.meta.url);' };

mkdirSync("dist", { recursive: true });
for (const [library, format] of Object.entries({
  "@auth/express": "esm",
  express: "cjs",
  "express-oauth2-jwt-bearer": "cjs",
  "express-openid-connect": "cjs",
  "express-session": "cjs",
  jose: "esm",
  "oidc-client-ts": "esm",
  passport: "cjs",
  "passport-openidconnect": "cjs",
})) {
  const { metafile, outputFiles } = await build({
    entryPoints: [library],
    outfile: "dist/library",
    bundle: true,
    minify: true,
    keepNames: true,
    charset: "utf8",
    format,
    platform: pages.includes(library) ? "browser" : "node",
    target: pages.includes(library) ? "es2022" : "node20",
    banner: format === "esm" && !pages.includes(library) ? banner : {},
    metafile: true,
    write: false,
  });
  const folders = [...new Set(Object.keys(metafile.inputs).map(packageOf))].sort();
  const notices = folders.map((folder) => `/*\n${folder}\n${licence(folder)}\n*/\n`);
  writeFileSync(
    `dist/${library.replace("/", "-")}.${format === "esm" ? "mjs" : "cjs"}`,
    `// Made by \`npm run build\`; do not edit. Made of, with their SHA-256:\n${head}\n${outputFiles[0].text}\n${notices.join("\n")}`,
  );
}

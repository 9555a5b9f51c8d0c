// Bundles oidc-provider with what it imports into dist/oidc-provider.mjs, which begins with the hashes of its sources
// and ends with the licences.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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

const { metafile, outputFiles } = await build({
  entryPoints: ["oidc-provider"],
  outfile: "dist/oidc-provider.mjs",
  bundle: true,
  minify: true,
  keepNames: true, // what it stores is kept by the names of classes
  charset: "utf8",
  format: "esm",
  platform: "node",
  target: "node20",
  // Some of what it imports asks for modules of Node.js by require, which modules have not.
  banner: { js: 'import{createRequire as requireOf}from"node:module";const require=requireOf(import.meta.url);' },
  metafile: true,
  write: false,
});
const folders = [...new Set(Object.keys(metafile.inputs).map(packageOf))].sort();
const notices = folders.map((folder) => `/*\n${folder}\n${licence(folder)}\n*/\n`);
writeFileSync(
  "dist/oidc-provider.mjs",
  `// Made by \`npm run build\`; do not edit. Made of, with their SHA-256:\n${head}\n${outputFiles[0].text}\n${notices.join("\n")}`,
);

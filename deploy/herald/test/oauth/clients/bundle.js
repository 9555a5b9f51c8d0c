// What the scripts build.js of this folder and of those below share. They run in their own folder.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const sources = [import.meta.dirname === process.cwd() ? "bundle.js" : "../bundle.js", "build.js", "package.json", "package-lock.json"];
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

// write writes a file of dist, which begins with the hashes of its sources and ends with the licences of the packages
// in these folders.
export const write = (file, text, folders) => {
  const notices = folders.map((folder) => `/*\n${folder}\n${licence(folder)}\n*/\n`);
  mkdirSync("dist", { recursive: true });
  writeFileSync(`dist/${file}`, `// Made by \`npm run build\`; do not edit. Made of, with their SHA-256:\n${head}\n${text}\n${notices.join("\n")}`);
};

// Some of what modules import asks for modules of Node.js by require, which modules have not.
export const banner = { js: 'import{createRequire as requireOf}from"node:module";const require=requireOf(import.meta.url);' };

// bundle bundles a library with what it imports into a file of dist. It is given esbuild's build, and more options.
export const bundle = async (build, library, file, options) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [library],
    outfile: "dist/library",
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "esm",
    platform: "node",
    target: "node20",
    metafile: true,
    write: false,
    ...options,
  });
  write(file, outputFiles[0].text, [...new Set(Object.keys(metafile.inputs).map(packageOf))].sort());
};

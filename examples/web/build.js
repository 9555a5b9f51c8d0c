// Bundles main.js and what it imports into dist/main.js, which begins with the hashes of its
// sources and ends with the licences of its libraries.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const { metafile, outputFiles } = await build({
  entryPoints: ["main.js"],
  outfile: "dist/main.js",
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  metafile: true,
  write: false,
});
const inputs = Object.keys(metafile.inputs);

// Generated files are not committed, so the hashes are those of their contracts.
const contracts = inputs
  .filter((name) => name.startsWith("gen/"))
  .map((name) => name.replace("gen/", "../../shared/proto/").replace("_pb.js", ".proto"));
const sources = ["build.js", "buf.gen.yaml", "main.js", "package.json", "package-lock.json", ...contracts.sort()];
const hash = (name) => createHash("sha256").update(readFileSync(name)).digest("hex");
const head = sources.map((name) => `// ${hash(name)} ${name}\n`).join("");

const notice = (name) => /^(?:\/\/.*\n)*/.exec(readFileSync(name, "utf8"))[0];
const libraries = inputs.filter((name) => name.startsWith("node_modules/"));
const notices = [...new Set(libraries.map(notice))].filter((text) => text.includes("Copyright")).sort();

writeFileSync(
  "dist/main.js",
  `// Made by \`npm run build\`; do not edit. Made of, with their SHA-256:\n${head}\n${outputFiles[0].text}\n${notices.join("\n")}`,
);

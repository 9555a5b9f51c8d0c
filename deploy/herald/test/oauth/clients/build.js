// Bundles each library with what it imports into a file of dist, which begins with the hashes of its sources and ends
// with the licences.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const sources = ["build.js", "package.json", "package-lock.json"];
const hash = (name) => createHash("sha256").update(readFileSync(name)).digest("hex");
const head = sources.map((name) => `// ${hash(name)} ${name}\n`).join("");

// licence returns the licence of a package.
const licence = (folder) => {
  const name = readdirSync(folder).find((file) => file.startsWith("LICENSE"));
  return readFileSync(`${folder}/${name}`, "utf8").trim();
};

for (const library of ["oauth4webapi", "openid-client"]) {
  const { metafile, outputFiles } = await build({
    entryPoints: [library],
    outfile: `dist/${library}.mjs`,
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "esm",
    platform: "node",
    target: "node20",
    // openid-client is a layer on oauth4webapi, and asks its errors for their classes.
    external: library === "oauth4webapi" ? [] : ["oauth4webapi"],
    metafile: true,
    write: false,
  });
  const folders = Object.keys(metafile.inputs).map((name) => /^node_modules\/[^/]+/.exec(name)[0]);
  const notices = [...new Set(folders)].sort().map((folder) => `/*\n${folder}\n${licence(folder)}\n*/\n`);
  writeFileSync(
    `dist/${library}.mjs`,
    `// Made by \`npm run build\`; do not edit. Made of, with their SHA-256:\n${head}\n${outputFiles[0].text}\n${notices.join("\n")}`,
  );
}

// axe-core is for pages, and is committed as it is.
writeFileSync(
  "dist/axe-core.js",
  `// Made by \`npm run build\`; do not edit. Made of, with their SHA-256:\n${head}\n${readFileSync("node_modules/axe-core/axe.min.js", "utf8").trim()}\n\n/*\nnode_modules/axe-core\n${licence("node_modules/axe-core")}\n*/\n`,
);

import { createServer } from "node:http";
import { createRemoteJWKSet, jwtVerify } from "jose";

const issuer = process.env.ISSUER; // such as https://id.example.com
const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/v2/keys`));
createServer(async (req, res) => {
  const answer = (status, body) => res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  try {
    const token = req.headers.authorization?.replace(/^Bearer /i, "") ?? "";
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: process.env.PROJECT_ID, // the project to which the API belongs
      typ: "at+jwt",
      algorithms: ["RS256"],
    });
    if (req.url === "/staff" && !payload.groups?.includes("reader")) return answer(403, { error: "insufficient_scope" });
    answer(200, { sub: payload.sub, groups: payload.groups });
  } catch (error) {
    answer(401, { error: "invalid_token", reason: error.code });
  }
}).listen(process.env.PORT, () => console.log("ready"));

// oidc-provider as the directory of one tenant. The standard input says what it is, in JSON: Origin, at which it
// listens, Tenant, ClientID, Secret, RedirectURI and Method of its client, which is how clients authenticate, and
// Account, with its Claims. Its page of the login has a button that logs the account in, and one that refuses.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const p = JSON.parse(readFileSync(0, "utf8"));
const base = `/${p.Tenant}/v2.0`;
const provider = new Provider(p.Origin + base, {
  clients: [
    {
      client_id: p.ClientID,
      client_secret: p.Secret,
      redirect_uris: [p.RedirectURI],
      token_endpoint_auth_method: p.Method,
    },
  ],
  clientAuthMethods: [p.Method],
  cookies: { keys: [p.Secret] },
  // The id token has what comes with openid. Names and address are in userinfo.
  claims: {
    openid: ["sub", "tid", "oid", "amr"],
    profile: ["name", "given_name", "family_name", "preferred_username", "locale"],
    email: ["email"],
  },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
  interactions: { url: (_, interaction) => `${base}/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...p.Claims }) }),
  // Employees are not asked for the consent to what their company has agreed to.
  loadExistingGrant: async (ctx) => {
    const grant = new provider.Grant({ accountId: ctx.oidc.session.accountId, clientId: ctx.oidc.client.clientId });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
});

const page = `<!DOCTYPE html><title>Company</title><h1>Company</h1>
<form method="post"><button name="answer" value="yes">Log in</button></form>
<form method="post" id="no"><button name="answer" value="no">Cancel</button></form>`;

// interact shows the page of the login, and takes its answer.
const interact = async (request, response) => {
  await provider.interactionDetails(request, response);
  if (request.method === "GET") {
    response.setHeader("Content-Type", "text/html").end(page);
    return;
  }
  let body = "";
  for await (const part of request) body += part;
  const yes = new URLSearchParams(body).get("answer") === "yes";
  await provider.interactionFinished(
    request,
    response,
    yes ? { login: { accountId: p.Account, amr: ["pwd", "mfa"] } } : { error: "access_denied" },
  );
};

const serve = provider.callback();
createServer((request, response) => {
  if (request.url.startsWith(`${base}/interaction/`)) {
    interact(request, response).catch((fault) => {
      console.error(fault);
      response.writeHead(500).end();
    });
    return;
  }
  request.originalUrl = request.url;
  if (request.url.startsWith(`${base}/`)) request.url = request.url.slice(base.length);
  serve(request, response);
}).listen(new URL(p.Origin).port, () => console.log("ready"));

provider.on("server_error", (_, fault) => console.error(fault.message, fault.error_detail));
provider.on("grant.error", (_, fault) => console.error(fault.message, fault.error_detail));

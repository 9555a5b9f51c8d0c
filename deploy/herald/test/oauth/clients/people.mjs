// A web application to which people log in with openid-client or oauth4webapi. The standard input says how it is
// registered, in JSON: Library, Issuer, ClientID, Secret and Origin, at which it listens.
import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import * as client from "openid-client";
import * as oauth from "oauth4webapi";

const p = JSON.parse(readFileSync(0, "utf8"));
const redirectURI = `${p.Origin}/callback`;
const scope = "openid profile offline_access";
const issuer = new URL(p.Issuer);
const http = { [oauth.allowInsecureRequests]: true };

// Each library returns the server's metadata, the address of a login, and what it brings: claims, userinfo and what a
// refresh gives.
const libraries = {
  "openid-client": async () => {
    const config = await client.discovery(issuer, p.ClientID, undefined, client.ClientSecretBasic(p.Secret), {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    });
    const login = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState: client.randomState(), expectedNonce: client.randomNonce() };
    return {
      metadata: config.serverMetadata(),
      begin: async () =>
        client.buildAuthorizationUrl(config, {
          redirect_uri: redirectURI,
          scope,
          state: login.expectedState,
          nonce: login.expectedNonce,
          code_challenge: await client.calculatePKCECodeChallenge(login.pkceCodeVerifier),
          code_challenge_method: "S256",
        }),
      finish: async (address) => {
        const tokens = await client.authorizationCodeGrant(config, address, { ...login, idTokenExpected: true });
        const claims = tokens.claims();
        const info = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
        const next = await client.refreshTokenGrant(config, tokens.refresh_token);
        return { claims, info, idToken: tokens.id_token, tokens, next, nextInfo: await client.fetchUserInfo(config, next.access_token, claims.sub) };
      },
      end: (idToken) => client.buildEndSessionUrl(config, { id_token_hint: idToken, post_logout_redirect_uri: `${p.Origin}/bye`, state: "s" }),
    };
  },
  oauth4webapi: async () => {
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...http }));
    const c = { client_id: p.ClientID };
    const authenticate = oauth.ClientSecretBasic(p.Secret);
    const verifier = oauth.generateRandomCodeVerifier();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const info = async (token, subject) => oauth.processUserInfoResponse(server, c, subject, await oauth.userInfoRequest(server, c, token, http));
    return {
      metadata: server,
      begin: async () => {
        const address = new URL(server.authorization_endpoint);
        const values = {
          client_id: p.ClientID,
          redirect_uri: redirectURI,
          response_type: "code",
          scope,
          state,
          nonce,
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        };
        for (const name of Object.keys(values)) address.searchParams.set(name, values[name]);
        return address;
      },
      finish: async (address) => {
        const parameters = oauth.validateAuthResponse(server, c, address, state);
        const answer = await oauth.authorizationCodeGrantRequest(server, c, authenticate, parameters, redirectURI, verifier, http);
        const tokens = await oauth.processAuthorizationCodeResponse(server, c, answer, { expectedNonce: nonce, requireIdToken: true });
        await oauth.validateApplicationLevelSignature(server, answer, http);
        const claims = oauth.getValidatedIdTokenClaims(tokens);
        const again = await oauth.refreshTokenGrantRequest(server, c, authenticate, tokens.refresh_token, http);
        const next = await oauth.processRefreshTokenResponse(server, c, again);
        return {
          claims,
          info: await info(tokens.access_token, claims.sub),
          idToken: tokens.id_token,
          tokens,
          next,
          nextInfo: await info(next.access_token, claims.sub),
        };
      },
      end: (idToken) => {
        const address = new URL(server.end_session_endpoint);
        address.search = new URLSearchParams({ id_token_hint: idToken, post_logout_redirect_uri: `${p.Origin}/bye`, state: "s" });
        return address;
      },
    };
  },
};

const library = await libraries[p.Library]();
let login;
let heard;
const ended = new Promise((resolve) => (heard = resolve));

// read checks a logout token (OpenID Connect Back-Channel Logout section 2.6) and returns its claims.
const read = async (token) => {
  const [head, body, signature] = token.split(".");
  const header = JSON.parse(Buffer.from(head, "base64url"));
  const { keys } = await (await fetch(library.metadata.jwks_uri)).json();
  const key = createPublicKey({ key: keys.find((k) => k.kid === header.kid), format: "jwk" });
  assert.equal(header.alg, "RS256");
  assert.equal(header.typ, "logout+jwt");
  assert.ok(verify("RSA-SHA256", `${head}.${body}`, key, Buffer.from(signature, "base64url")));
  const claims = JSON.parse(Buffer.from(body, "base64url"));
  const now = Date.now() / 1000;
  assert.equal(claims.iss, library.metadata.issuer);
  assert.deepEqual([claims.aud].flat(), [p.ClientID]);
  assert.ok(claims.iat <= now && claims.exp > now && claims.jti && !("nonce" in claims));
  assert.deepEqual(claims.events, { "http://schemas.openid.net/event/backchannel-logout": {} });
  return claims;
};

const routes = {
  "GET /login": async () => ({ to: await library.begin() }),
  "GET /callback": async (address) => {
    login = await library.finish(address);
    assert.notEqual(login.next.access_token, login.tokens.access_token);
    assert.notEqual(login.next.refresh_token, login.tokens.refresh_token);
    assert.equal(login.info.name, login.nextInfo.name);
    return { page: "Welcome", text: `${login.info.name}, ${login.claims.amr.join(" ")}` };
  },
  "GET /logout": async () => ({ to: library.end(login.idToken) }),
  "GET /bye": async (address) => ({ page: "Bye", text: address.search }),
  "POST /ended": async (_, body) => {
    heard(await read(new URLSearchParams(body).get("logout_token")));
    return {};
  },
  // Answers when the application has heard of the logout.
  "GET /heard": async () => {
    const claims = await ended;
    return { page: "Heard", text: `${claims.sub}, ${claims.sid === login.claims.sid}` };
  },
};

createServer(async (request, response) => {
  const address = new URL(request.url, p.Origin);
  let body = "";
  for await (const part of request) body += part;
  try {
    const answer = await routes[`${request.method} ${address.pathname}`]?.(address, body);
    if (!answer) response.writeHead(404);
    if (answer?.to) response.writeHead(303, { Location: String(answer.to) });
    if (answer?.page) response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
    response.end(answer?.page ? `<!doctype html><title>App</title><h1>${answer.page}</h1><p>${answer.text}</p>` : "");
  } catch (error) {
    console.error(error);
    response.writeHead(500, { "Content-Type": "text/html" });
    response.end(`<!doctype html><title>App</title><h1>Failed</h1>`);
  }
}).listen(Number(new URL(p.Origin).port), "localhost", () => console.log("ready"));

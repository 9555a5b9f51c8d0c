// Logs in as machines with openid-client and oauth4webapi. The standard input says as whom, in JSON.
import assert from "node:assert/strict";
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import * as client from "openid-client";
import * as oauth from "oauth4webapi";

const p = JSON.parse(readFileSync(0, "utf8"));
const scope = "openid urn:service:iam:org:project:id:service:aud";
const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const insecure = { execute: [client.allowInsecureRequests] };
const http = { [oauth.allowInsecureRequests]: true };
let checks = 0;

const part = (object) => Buffer.from(JSON.stringify(object)).toString("base64url");
const assertion = (changes = {}) => {
  const file = JSON.parse(p.Key);
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: file.userId, sub: file.userId, aud: p.Issuer, iat, exp: iat + 60, ...changes };
  const signed = `${part({ alg: "RS256", kid: file.keyId })}.${part(claims)}`;
  return `${signed}.${sign("RSA-SHA256", signed, file.key).toString("base64url")}`;
};
const der = createPrivateKey(p.KeyedPEM).export({ type: "pkcs8", format: "der" });
const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const key = { key: await crypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]), kid: p.KeyedKeyID };

// is checks a token: whose it is, or that it is nobody's for the API.
const is = async (tokens, userID) => {
  assert.equal(tokens.token_type.toLowerCase(), "bearer");
  assert.equal(tokens.scope, scope);
  assert.equal(tokens.expires_in, 3600);
  const answer = await fetch(`${p.Issuer}/auth/v1/users/me`, { headers: { Authorization: `Bearer ${tokens.access_token}` } });
  assert.equal(answer.status, userID ? 200 : 401);
  if (userID) assert.equal((await answer.json()).user.id, userID);
  checks++;
};

// refused checks an error body as the library has read it.
const refused = async (promise, status, code) => {
  await assert.rejects(promise, (error) => {
    assert.equal(error.error ?? error.cause?.[0]?.parameters?.error, code);
    assert.equal(error.status, status);
    assert.ok(error.error_description?.length > 10);
    return true;
  });
  checks++;
};

// openid-client
const discovered = (id, authenticate) => client.discovery(new URL(p.Issuer), id, undefined, authenticate, insecure);
const of = {
  basic: await discovered(p.UserID, client.ClientSecretBasic(p.Secret)),
  post: await discovered(p.UserID, client.ClientSecretPost(p.Secret)),
  app: await discovered(p.Basic, client.ClientSecretBasic(p.BasicSecret)),
  keyed: await discovered(p.KeyedID, client.PrivateKeyJwt(key)),
  none: await discovered(p.UserID, client.None()),
};
await is(await client.clientCredentialsGrant(of.basic, { scope }), p.UserID);
await is(await client.clientCredentialsGrant(of.post, { scope }), p.UserID);
await is(await client.clientCredentialsGrant(of.app, { scope }));
await is(await client.clientCredentialsGrant(of.keyed, { scope }));
await is(await client.genericGrantRequest(of.none, grant, { assertion: assertion(), scope }), p.UserID);
await is(await client.genericGrantRequest(of.none, grant, { assertion: assertion({ scope }) }), p.UserID);
const old = assertion({ iat: 1, exp: 61 });
await refused(client.genericGrantRequest(of.none, grant, { assertion: old, scope }), 400, "invalid_grant");
await refused(client.genericGrantRequest(of.none, "password", { username: "a" }), 400, "unsupported_grant_type");
await refused(client.clientCredentialsGrant(of.basic, { scope: "urn:service:iam:org:id:other" }), 400, "invalid_scope");
const elsewhere = new URL(p.Issuer.replace("localhost", "127.0.0.1"));
await assert.rejects(client.discovery(elsewhere, p.UserID, undefined, client.None(), insecure)); // another issuer
checks++;

// oauth4webapi, with the document of RFC 8414
const issuer = new URL(p.Issuer);
const document = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...http });
const server = await oauth.processDiscoveryResponse(issuer, document);
const ask = async (id, authenticate, parameters) => {
  const c = { client_id: id };
  const answer = await oauth.clientCredentialsGrantRequest(server, c, authenticate, parameters, http);
  return oauth.processClientCredentialsResponse(server, c, answer);
};
await is(await ask(p.UserID, oauth.ClientSecretBasic(p.Secret), { scope }), p.UserID);
await is(await ask(p.UserID, oauth.ClientSecretPost(p.Secret), { scope }), p.UserID);
await is(await ask(p.KeyedID, oauth.PrivateKeyJwt(key), { scope }));
const bearer = { client_id: p.UserID };
const sent = await oauth.genericTokenEndpointRequest(server, bearer, oauth.None(), grant, { assertion: assertion(), scope }, http);
await is(await oauth.processGenericTokenEndpointResponse(server, bearer, sent), p.UserID);

// A JWT access token, verified with the keys (RFC 9068).
const token = (await ask(p.JWTUserID, oauth.ClientSecretBasic(p.JWTUserSecret), { scope })).access_token;
const request = new Request(p.Issuer, { headers: { Authorization: `Bearer ${token}` } });
const signingAlgorithms = server.id_token_signing_alg_values_supported;
const claims = await oauth.validateJwtAccessToken(server, request, p.JWTUserID, { signingAlgorithms, ...http });
assert.equal(claims.sub, p.JWTUserID);
checks++;

// The wrong secret has a challenge, as RFC 6749 section 5.2 wants.
const challenge = await ask(p.UserID, oauth.ClientSecretBasic("wrong"), { scope }).catch((error) => error);
assert.ok(challenge instanceof oauth.WWWAuthenticateChallengeError);
assert.equal(challenge.cause[0].scheme, "basic");
checks++;

console.log(`${checks} checks`);

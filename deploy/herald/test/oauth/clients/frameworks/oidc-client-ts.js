import { UserManager, WebStorageStateStore } from "oidc-client-ts";

const { issuer, clientId } = await (await fetch("/settings.json")).json(); // such as https://id.example.com
const manager = new UserManager({
  authority: issuer,
  client_id: clientId,
  redirect_uri: `${location.origin}/callback`,
  scope: "openid profile email groups offline_access",
  userStore: new WebStorageStateStore({ store: localStorage }), // all tabs share the login
});

function show(user) {
  document.querySelector("h1").textContent = `Welcome ${user.profile.name}`;
  document.querySelector("p").textContent = `${user.profile.email} ${user.profile.groups}`;
}

document.querySelector("button").onclick = async () => {
  show(await manager.signinSilent()); // gets new tokens with the refresh token
  document.querySelector("h1").textContent = "Renewed";
};
const user = location.pathname === "/callback" ? await manager.signinCallback() : await manager.getUser();
if (user) show(user);
else await manager.signinRedirect();

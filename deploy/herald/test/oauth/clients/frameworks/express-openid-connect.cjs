const express = require("express");
const { auth, claimIncludes } = require("express-openid-connect");

const app = express();
app.use(
  auth({
    issuerBaseURL: process.env.ISSUER, // such as https://id.example.com
    baseURL: process.env.ORIGIN, // the address of this application, whose redirect URI is /callback there
    clientID: process.env.CLIENT_ID,
    clientSecret: process.env.CLIENT_SECRET,
    secret: process.env.SESSION_SECRET, // at least 32 characters of your choice, for the cookie
    authorizationParams: { response_type: "code", scope: "openid profile email groups" },
  }),
);
app.get("/", (req, res) => res.send(`<h1>Welcome ${req.oidc.user.name}</h1> ${req.oidc.user.email}`));
app.get("/staff", claimIncludes("groups", "reader"), (req, res) => res.send("<h1>For readers</h1>"));
app.listen(process.env.PORT, () => console.log("ready"));

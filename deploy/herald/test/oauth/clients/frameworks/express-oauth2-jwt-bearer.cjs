const express = require("express");
const { auth, claimIncludes } = require("express-oauth2-jwt-bearer");

const app = express();
app.use(
  auth({
    issuerBaseURL: process.env.ISSUER, // such as https://id.example.com
    audience: process.env.PROJECT_ID, // the project to which the API belongs
  }),
);
app.get("/", (req, res) => res.json({ sub: req.auth.payload.sub }));
app.get("/staff", claimIncludes("groups", "reader"), (req, res) => res.json({ groups: req.auth.payload.groups }));
app.listen(process.env.PORT, () => console.log("ready"));

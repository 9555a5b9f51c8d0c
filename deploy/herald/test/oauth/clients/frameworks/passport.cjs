const express = require("express");
const session = require("express-session");
const passport = require("passport");
const OpenIDConnectStrategy = require("passport-openidconnect");

const issuer = process.env.ISSUER; // such as https://id.example.com
const decode = (jwt) => JSON.parse(Buffer.from(jwt.split(".")[1], "base64url"));
passport.use(
  new OpenIDConnectStrategy(
    {
      issuer,
      authorizationURL: `${issuer}/oauth/v2/authorize`,
      tokenURL: `${issuer}/oauth/v2/token`,
      userInfoURL: `${issuer}/oidc/v1/userinfo`,
      clientID: process.env.CLIENT_ID,
      clientSecret: process.env.CLIENT_SECRET,
      callbackURL: `${process.env.ORIGIN}/callback`,
      scope: "profile email groups",
    },
    (iss, profile, context, idToken, done) => done(null, { ...profile, groups: decode(idToken).groups }),
  ),
);
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

const app = express();
app.use(session({ secret: process.env.SESSION_SECRET, resave: false, saveUninitialized: false }));
app.use(passport.session());
app.get("/login", passport.authenticate("openidconnect"));
app.get("/callback", passport.authenticate("openidconnect", { successRedirect: "/", failureRedirect: "/login" }));
app.get("/", (req, res) => {
  if (!req.user) return res.redirect("/login");
  res.send(`<h1>Welcome ${req.user.displayName}</h1> ${req.user.emails[0].value}`);
});
app.get("/staff", (req, res) => {
  if (!req.user?.groups.includes("reader")) return res.status(403).send("<h1>Not for you</h1>");
  res.send("<h1>For readers</h1>");
});
app.listen(process.env.PORT, () => console.log("ready"));

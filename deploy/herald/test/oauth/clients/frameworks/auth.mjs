import { ExpressAuth, getSession } from "@auth/express";
import express from "express";

const config = {
  trustHost: true,
  secret: process.env.SESSION_SECRET,
  providers: [
    {
      id: "herald", // the redirect URI is /auth/callback/herald
      name: "Herald",
      type: "oidc",
      issuer: process.env.ISSUER, // such as https://id.example.com
      clientId: process.env.CLIENT_ID,
      clientSecret: process.env.CLIENT_SECRET,
      authorization: { params: { scope: "openid profile email groups" } },
    },
  ],
  callbacks: {
    jwt: ({ token, profile }) => ({ ...token, groups: profile?.groups ?? token.groups }),
    session: ({ session, token }) => ({ ...session, groups: token.groups }),
  },
};
const app = express();
app.use("/auth/*", ExpressAuth(config));
app.get("/", async (req, res) => {
  const session = await getSession(req, config);
  if (!session) return res.redirect("/auth/signin");
  res.send(`<h1>Welcome ${session.user.name}</h1> ${session.user.email}`);
});
app.get("/staff", async (req, res) => {
  const session = await getSession(req, config);
  if (!session?.groups?.includes("reader")) return res.status(403).send("<h1>Not for you</h1>");
  res.send("<h1>For readers</h1>");
});
app.listen(process.env.PORT, () => console.log("ready"));

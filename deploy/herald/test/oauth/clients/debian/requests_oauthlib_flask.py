import os

from flask import Flask, abort, redirect, request, session
from markupsafe import escape
from requests_oauthlib import OAuth2Session

issuer = os.environ["ISSUER"]  # such as https://id.example.com
app = Flask(__name__)
app.secret_key = os.environ["SESSION_SECRET"]


def herald(**options):
    return OAuth2Session(
        os.environ["CLIENT_ID"],
        redirect_uri=os.environ["ORIGIN"] + "/callback",
        scope=["openid", "profile", "email", "groups"],
        **options,
    )


@app.get("/")
def home():
    if "user" not in session:
        address, session["state"] = herald().authorization_url(issuer + "/oauth/v2/authorize")
        return redirect(address)
    return f"<h1>Welcome {escape(session['user']['name'])}</h1> {escape(session['user']['email'])}"


@app.get("/callback")
def callback():
    client = herald(state=session.pop("state", None))
    client.fetch_token(
        issuer + "/oauth/v2/token",
        client_secret=os.environ["CLIENT_SECRET"],
        authorization_response=request.url,
    )
    session["user"] = client.get(issuer + "/oidc/v1/userinfo").json()
    return redirect("/")


@app.get("/staff")
def staff():
    if "reader" not in session.get("user", {}).get("groups", []):
        abort(403)
    return "<h1>For readers</h1>"

import os

from authlib.integrations.flask_client import OAuth
from flask import Flask, abort, redirect, session, url_for
from markupsafe import escape

app = Flask(__name__)
app.secret_key = os.environ["SESSION_SECRET"]
herald = OAuth(app).register(
    "herald",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
    client_kwargs={"scope": "openid profile email groups", "code_challenge_method": "S256"},
)


@app.get("/")
def home():
    if "user" not in session:
        return herald.authorize_redirect(url_for("callback", _external=True))
    return f"<h1>Welcome {escape(session['user']['name'])}</h1> {escape(session['user']['email'])}"


@app.get("/callback")
def callback():
    session["user"] = herald.authorize_access_token()["userinfo"]
    return redirect("/")


@app.get("/staff")
def staff():
    if "reader" not in session.get("user", {}).get("groups", []):
        abort(403)
    return "<h1>For readers</h1>"

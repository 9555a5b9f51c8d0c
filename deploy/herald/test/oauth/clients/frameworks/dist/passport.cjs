// Made by `npm run build`; do not edit. Made of, with their SHA-256:
// bd62d843dc5996bf0fa3d8c545f76d62ee6868b9dbb39a5d8d5cd390df1921c5 ../bundle.js
// 52175faddfa2ae89211a68535d4f2076233a55eb325feadab22a3f715ecfcf6a build.js
// 1a227b2bcb60c586ad29848d22055fb07779dfda12e91509c525f68a030c51ff package.json
// 7a040fbbd0b098187d86b9305302bc2d322748ba0c592640c2140bb61a4012ba package-lock.json

var pe=Object.defineProperty;var u=(e,t)=>pe(e,"name",{value:t,configurable:!0});var k=(e,t)=>()=>{try{return t||e((t={exports:{}}).exports,t),t.exports}catch(s){throw t=0,s}};var W=k((Ee,D)=>{D.exports=function(e){var t,s,i=[];return e.on("data",t=u(function(n,o){i.push(["data",n,o])},"onData")),e.on("end",s=u(function(n,o){i.push(["end",n,o])},"onEnd")),{end:u(function(){e.removeListener("data",t),e.removeListener("end",s)},"end"),resume:u(function(){this.end();for(var n=0,o=i.length;n<o;++n)e.emit.apply(e,i[n])},"resume")}}});var G=k((Ue,B)=>{function H(){}u(H,"Strategy");H.prototype.authenticate=function(e,t){throw new Error("Strategy#authenticate must be overridden by subclass")};B.exports=H});var x=k((T,K)=>{var J=G();T=K.exports=J;T.Strategy=J});var R=k((Oe,Q)=>{var de=W(),ve=require("util"),N=x();function C(e,t){typeof e=="function"&&(t=e,e=void 0),e=e||{},N.call(this),this.name="session",this._key=e.key||"passport",this._deserializeUser=t}u(C,"SessionStrategy");ve.inherits(C,N);C.prototype.authenticate=function(e,t){if(!e.session)return this.error(new Error("Login sessions require session support. Did you forget to use `express-session` middleware?"));t=t||{};var s=this,i;if(e.session[this._key]&&(i=e.session[this._key].user),i||i===0){var n=t.pauseStream?de(e):null;this._deserializeUser(i,e,function(o,c){if(o)return s.error(o);if(!c)delete e.session[s._key].user;else{var r=e._userProperty||"user";e[r]=c}s.pass(),n&&n.resume()})}else s.pass()};Q.exports=C});var Y=k((V,X)=>{V=X.exports=function(e,t){if(e&&t)for(var s in t)e[s]=t[s];return e}});var j=k((Te,$)=>{var Z=Y();function F(e,t){typeof e=="function"&&(t=e,e=void 0),e=e||{},this._key=e.key||"passport",this._serializeUser=t}u(F,"SessionManager");F.prototype.logIn=function(e,t,s,i){if(typeof s=="function"&&(i=s,s={}),s=s||{},!e.session)return i(new Error("Login sessions require session support. Did you forget to use `express-session` middleware?"));var n=this,o=e.session;e.session.regenerate(function(c){if(c)return i(c);n._serializeUser(t,e,function(r,f){if(r)return i(r);s.keepSessionInfo&&Z(e.session,o),e.session[n._key]||(e.session[n._key]={}),e.session[n._key].user=f,e.session.save(function(a){if(a)return i(a);i()})})})};F.prototype.logOut=function(e,t,s){if(typeof t=="function"&&(s=t,t={}),t=t||{},!e.session)return s(new Error("Login sessions require session support. Did you forget to use `express-session` middleware?"));var i=this;e.session[this._key]&&delete e.session[this._key].user;var n=e.session;e.session.save(function(o){if(o)return s(o);e.session.regenerate(function(c){if(c)return s(c);t.keepSessionInfo&&Z(e.session,n),s()})})};$.exports=F});var L=k((b,q)=>{var U=b=q.exports={};U.login=U.logIn=function(e,t,s){typeof t=="function"&&(s=t,t={}),t=t||{};var i=this._userProperty||"user",n=t.session===void 0?!0:t.session;if(this[i]=e,n&&this._sessionManager){if(typeof s!="function")throw new Error("req#login requires a callback function");var o=this;this._sessionManager.logIn(this,e,t,function(c){if(c)return o[i]=null,s(c);s()})}else s&&s()};U.logout=U.logOut=function(e,t){typeof e=="function"&&(t=e,e={}),e=e||{};var s=this._userProperty||"user";if(this[s]=null,this._sessionManager){if(typeof t!="function")throw new Error("req#logout requires a callback function");this._sessionManager.logOut(this,e,t)}else t&&t()};U.isAuthenticated=function(){var e=this._userProperty||"user";return!!this[e]};U.isUnauthenticated=function(){return!this.isAuthenticated()}});var te=k((Ce,ee)=>{var O=L();ee.exports=u(function(t,s){return s=s||{},u(function(n,o,c){n.login=n.logIn=n.logIn||O.logIn,n.logout=n.logOut=n.logOut||O.logOut,n.isAuthenticated=n.isAuthenticated||O.isAuthenticated,n.isUnauthenticated=n.isUnauthenticated||O.isUnauthenticated,n._sessionManager=t._sm,s.userProperty&&(n._userProperty=s.userProperty);var r=s.compat===void 0?!0:s.compat;r&&(t._userProperty=s.userProperty||"user",n._passport={},n._passport.instance=t),c()},"initialize")},"initialize")});var re=k((Fe,ie)=>{function se(e,t){Error.call(this),Error.captureStackTrace(this,arguments.callee),this.name="AuthenticationError",this.message=e,this.status=t||401}u(se,"AuthenticationError");se.prototype.__proto__=Error.prototype;ie.exports=se});var ae=k((De,ue)=>{var ne=require("http"),P=L(),_e=re();ue.exports=u(function(t,s,i,n){typeof i=="function"&&(n=i,i={}),i=i||{};var o=!0;return Array.isArray(s)||(s=[s],o=!1),u(function(r,f,a){r.login=r.logIn=r.logIn||P.logIn,r.logout=r.logOut=r.logOut||P.logOut,r.isAuthenticated=r.isAuthenticated||P.isAuthenticated,r.isUnauthenticated=r.isUnauthenticated||P.isUnauthenticated,r._sessionManager=t._sm;var l=[];function E(){if(n)if(o){var p=l.map(function(A){return A.challenge}),v=l.map(function(A){return A.status});return n(null,!1,p,v)}else return n(null,!1,l[0].challenge,l[0].status);var _=l[0]||{},y=_.challenge||{},m;if(i.failureFlash){var h=i.failureFlash;typeof h=="string"&&(h={type:"error",message:h}),h.type=h.type||"error";var g=h.type||y.type||"error";m=h.message||y.message||y,typeof m=="string"&&r.flash(g,m)}if(i.failureMessage&&(m=i.failureMessage,typeof m=="boolean"&&(m=y.message||y),typeof m=="string"&&(r.session.messages=r.session.messages||[],r.session.messages.push(m))),i.failureRedirect)return f.redirect(i.failureRedirect);for(var w=[],S,M,z=0,I=l.length;z<I;z++)_=l[z],y=_.challenge,M=_.status,S=S||M,typeof y=="string"&&w.push(y);if(f.statusCode=S||401,f.statusCode==401&&w.length&&f.setHeader("WWW-Authenticate",w),i.failWithError)return a(new _e(ne.STATUS_CODES[f.statusCode],S));f.end(ne.STATUS_CODES[f.statusCode])}u(E,"allFailed"),u((function p(v){var _=s[v];if(!_)return E();var y,m;if(typeof _.authenticate=="function")y=_;else{if(m=t._strategy(_),!m)return a(new Error('Unknown authentication strategy "'+_+'"'));y=Object.create(m)}y.success=function(h,g){if(n)return n(null,h,g);g=g||{};var w;if(i.successFlash){var S=i.successFlash;typeof S=="string"&&(S={type:"success",message:S}),S.type=S.type||"success";var M=S.type||g.type||"success";w=S.message||g.message||g,typeof w=="string"&&r.flash(M,w)}if(i.successMessage&&(w=i.successMessage,typeof w=="boolean"&&(w=g.message||g),typeof w=="string"&&(r.session.messages=r.session.messages||[],r.session.messages.push(w))),i.assignProperty){r[i.assignProperty]=h,i.authInfo!==!1?t.transformAuthInfo(g,r,function(z,I){if(z)return a(z);r.authInfo=I,a()}):a();return}r.logIn(h,i,function(z){if(z)return a(z);function I(){if(i.successReturnToOrRedirect){var A=i.successReturnToOrRedirect;return r.session&&r.session.returnTo&&(A=r.session.returnTo,delete r.session.returnTo),f.redirect(A)}if(i.successRedirect)return f.redirect(i.successRedirect);a()}u(I,"complete"),i.authInfo!==!1?t.transformAuthInfo(g,r,function(A,ge){if(A)return a(A);r.authInfo=ge,I()}):I()})},y.fail=function(h,g){typeof h=="number"&&(g=h,h=void 0),l.push({challenge:h,status:g}),p(v+1)},y.redirect=function(h,g){f.statusCode=g||302,f.setHeader("Location",h),f.setHeader("Content-Length","0"),f.end()},y.pass=function(){a()},y.error=function(h){if(n)return n(h);a(h)},y.authenticate(r,i)}),"attempt")(0)},"authenticate")},"authenticate")});var ce=k((fe,oe)=>{var me=te(),we=ae();fe=oe.exports=function(){return{initialize:me,authenticate:we}}});var le=k((He,he)=>{var Se=R(),ke=j();function d(){this._key="passport",this._strategies={},this._serializers=[],this._deserializers=[],this._infoTransformers=[],this._framework=null,this.init()}u(d,"Authenticator");d.prototype.init=function(){this.framework(ce()()),this.use(new Se({key:this._key},this.deserializeUser.bind(this))),this._sm=new ke({key:this._key},this.serializeUser.bind(this))};d.prototype.use=function(e,t){if(t||(t=e,e=t.name),!e)throw new Error("Authentication strategies must have a name");return this._strategies[e]=t,this};d.prototype.unuse=function(e){return delete this._strategies[e],this};d.prototype.framework=function(e){return this._framework=e,this};d.prototype.initialize=function(e){return e=e||{},this._framework.initialize(this,e)};d.prototype.authenticate=function(e,t,s){return this._framework.authenticate(this,e,t,s)};d.prototype.authorize=function(e,t,s){t=t||{},t.assignProperty="account";var i=this._framework.authorize||this._framework.authenticate;return i(this,e,t,s)};d.prototype.session=function(e){return this.authenticate("session",e)};d.prototype.serializeUser=function(e,t,s){if(typeof e=="function")return this._serializers.push(e);var i=e;typeof t=="function"&&(s=t,t=void 0);var n=this._serializers;u((function o(c,r,f){if(r==="pass"&&(r=void 0),r||f||f===0)return s(r,f);var a=n[c];if(!a)return s(new Error("Failed to serialize user into session"));function l(p,v){o(c+1,p,v)}u(l,"serialized");try{var E=a.length;E==3?a(t,i,l):a(i,l)}catch(p){return s(p)}}),"pass")(0)};d.prototype.deserializeUser=function(e,t,s){if(typeof e=="function")return this._deserializers.push(e);var i=e;typeof t=="function"&&(s=t,t=void 0);var n=this._deserializers;u((function o(c,r,f){if(r==="pass"&&(r=void 0),r||f)return s(r,f);if(f===null||f===!1)return s(null,!1);var a=n[c];if(!a)return s(new Error("Failed to deserialize user out of session"));function l(p,v){o(c+1,p,v)}u(l,"deserialized");try{var E=a.length;E==3?a(t,i,l):a(i,l)}catch(p){return s(p)}}),"pass")(0)};d.prototype.transformAuthInfo=function(e,t,s){if(typeof e=="function")return this._infoTransformers.push(e);var i=e;typeof t=="function"&&(s=t,t=void 0);var n=this._infoTransformers;u((function o(c,r,f){if(r==="pass"&&(r=void 0),r||f)return s(r,f);var a=n[c];if(!a)return s(null,i);function l(v,_){o(c+1,v,_)}u(l,"transformed");try{var E=a.length;if(E==1){var p=a(i);l(null,p)}else E==3?a(t,i,l):a(i,l)}catch(v){return s(v)}}),"pass")(0)};d.prototype._strategy=function(e){return this._strategies[e]};he.exports=d});var ye=le(),ze=R();exports=module.exports=new ye;exports.Passport=exports.Authenticator=ye;exports.Strategy=x();exports.strategies={};exports.strategies.SessionStrategy=ze;

/*
node_modules/passport
The MIT License (MIT)

Copyright (c) 2011-2021 Jared Hanson

Permission is hereby granted, free of charge, to any person obtaining a copy of
this software and associated documentation files (the "Software"), to deal in
the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of
the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS
FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/passport-strategy
(The MIT License)

Copyright (c) 2011-2013 Jared Hanson

Permission is hereby granted, free of charge, to any person obtaining a copy of
this software and associated documentation files (the "Software"), to deal in
the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of
the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS
FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/pause
undefined
*/

/*
node_modules/utils-merge
The MIT License (MIT)

Copyright (c) 2013-2017 Jared Hanson

Permission is hereby granted, free of charge, to any person obtaining a copy of
this software and associated documentation files (the "Software"), to deal in
the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of
the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS
FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

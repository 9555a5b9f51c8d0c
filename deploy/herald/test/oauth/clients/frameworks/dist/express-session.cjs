// Made by `npm run build`; do not edit. Made of, with their SHA-256:
// bd62d843dc5996bf0fa3d8c545f76d62ee6868b9dbb39a5d8d5cd390df1921c5 ../bundle.js
// 52175faddfa2ae89211a68535d4f2076233a55eb325feadab22a3f715ecfcf6a build.js
// 1a227b2bcb60c586ad29848d22055fb07779dfda12e91509c525f68a030c51ff package.json
// 7a040fbbd0b098187d86b9305302bc2d322748ba0c592640c2140bb61a4012ba package-lock.json

"use strict";var Lr=Object.defineProperty;var i=(e,r)=>Lr(e,"name",{value:r,configurable:!0});var y=(e,r)=>()=>{try{return r||e((r={exports:{}}).exports,r),r.exports}catch(t){throw r=0,t}};var Be=y((le,Ue)=>{var q=require("buffer"),D=q.Buffer;function Me(e,r){for(var t in e)r[t]=e[t]}i(Me,"copyProps");D.from&&D.alloc&&D.allocUnsafe&&D.allocUnsafeSlow?Ue.exports=q:(Me(q,le),le.Buffer=I);function I(e,r,t){return D(e,r,t)}i(I,"SafeBuffer");I.prototype=Object.create(D.prototype);Me(D,I);I.from=function(e,r,t){if(typeof e=="number")throw new TypeError("Argument must not be a number");return D(e,r,t)};I.alloc=function(e,r,t){if(typeof e!="number")throw new TypeError("Argument must be a number");var n=D(e);return r!==void 0?typeof t=="string"?n.fill(r,t):n.fill(r):n.fill(0),n};I.allocUnsafe=function(e){if(typeof e!="number")throw new TypeError("Argument must be a number");return D(e)};I.allocUnsafeSlow=function(e){if(typeof e!="number")throw new TypeError("Argument must be a number");return q.SlowBuffer(e)}});var de=y(pe=>{"use strict";pe.parse=Jr;pe.serialize=Vr;var Rr=Object.prototype.toString,zr=Object.prototype.hasOwnProperty,Fr=/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,$r=/^("?)[\u0021\u0023-\u002B\u002D-\u003A\u003C-\u005B\u005D-\u007E]*\1$/,Gr=/^([.]?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)([.][a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i,Wr=/^[\u0020-\u003A\u003D-\u007E]*$/;function Jr(e,r){if(typeof e!="string")throw new TypeError("argument str must be a string");var t={},n=e.length;if(n<2)return t;var o=r&&r.decode||Xr,s=0,a=0,f=0;do{if(a=e.indexOf("=",s),a===-1)break;if(f=e.indexOf(";",s),f===-1)f=n;else if(a>f){s=e.lastIndexOf(";",a-1)+1;continue}var m=He(e,s,a),v=Le(e,a,m),g=e.slice(m,v);if(!zr.call(t,g)){var S=He(e,a+1,f),E=Le(e,f,S);e.charCodeAt(S)===34&&e.charCodeAt(E-1)===34&&(S++,E--);var C=e.slice(S,E);t[g]=Yr(C,o)}s=f+1}while(s<n);return t}i(Jr,"parse");function He(e,r,t){do{var n=e.charCodeAt(r);if(n!==32&&n!==9)return r}while(++r<t);return t}i(He,"startIndex");function Le(e,r,t){for(;r>t;){var n=e.charCodeAt(--r);if(n!==32&&n!==9)return r+1}return t}i(Le,"endIndex");function Vr(e,r,t){var n=t&&t.encode||encodeURIComponent;if(typeof n!="function")throw new TypeError("option encode is invalid");if(!Fr.test(e))throw new TypeError("argument name is invalid");var o=n(r);if(!$r.test(o))throw new TypeError("argument val is invalid");var s=e+"="+o;if(!t)return s;if(t.maxAge!=null){var a=Math.floor(t.maxAge);if(!isFinite(a))throw new TypeError("option maxAge is invalid");s+="; Max-Age="+a}if(t.domain){if(!Gr.test(t.domain))throw new TypeError("option domain is invalid");s+="; Domain="+t.domain}if(t.path){if(!Wr.test(t.path))throw new TypeError("option path is invalid");s+="; Path="+t.path}if(t.expires){var f=t.expires;if(!Zr(f)||isNaN(f.valueOf()))throw new TypeError("option expires is invalid");s+="; Expires="+f.toUTCString()}if(t.httpOnly&&(s+="; HttpOnly"),t.secure&&(s+="; Secure"),t.partitioned&&(s+="; Partitioned"),t.priority){var m=typeof t.priority=="string"?t.priority.toLowerCase():t.priority;switch(m){case"low":s+="; Priority=Low";break;case"medium":s+="; Priority=Medium";break;case"high":s+="; Priority=High";break;default:throw new TypeError("option priority is invalid")}}if(t.sameSite){var v=typeof t.sameSite=="string"?t.sameSite.toLowerCase():t.sameSite;switch(v){case!0:s+="; SameSite=Strict";break;case"lax":s+="; SameSite=Lax";break;case"strict":s+="; SameSite=Strict";break;case"none":s+="; SameSite=None";break;default:throw new TypeError("option sameSite is invalid")}}return s}i(Vr,"serialize");function Xr(e){return e.indexOf("%")!==-1?decodeURIComponent(e):e}i(Xr,"decode");function Zr(e){return Rr.call(e)==="[object Date]"}i(Zr,"isDate");function Yr(e,r){try{return r(e)}catch{return e}}i(Yr,"tryDecode")});var ze=y((bn,Re)=>{var R=1e3,z=R*60,F=z*60,$=F*24,Qr=$*365.25;Re.exports=function(e,r){r=r||{};var t=typeof e;if(t==="string"&&e.length>0)return Kr(e);if(t==="number"&&isNaN(e)===!1)return r.long?et(e):qr(e);throw new Error("val is not a non-empty string or a valid number. val="+JSON.stringify(e))};function Kr(e){if(e=String(e),!(e.length>100)){var r=/^((?:\d+)?\.?\d+) *(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|years?|yrs?|y)?$/i.exec(e);if(r){var t=parseFloat(r[1]),n=(r[2]||"ms").toLowerCase();switch(n){case"years":case"year":case"yrs":case"yr":case"y":return t*Qr;case"days":case"day":case"d":return t*$;case"hours":case"hour":case"hrs":case"hr":case"h":return t*F;case"minutes":case"minute":case"mins":case"min":case"m":return t*z;case"seconds":case"second":case"secs":case"sec":case"s":return t*R;case"milliseconds":case"millisecond":case"msecs":case"msec":case"ms":return t;default:return}}}}i(Kr,"parse");function qr(e){return e>=$?Math.round(e/$)+"d":e>=F?Math.round(e/F)+"h":e>=z?Math.round(e/z)+"m":e>=R?Math.round(e/R)+"s":e+"ms"}i(qr,"fmtShort");function et(e){return ee(e,$,"day")||ee(e,F,"hour")||ee(e,z,"minute")||ee(e,R,"second")||e+" ms"}i(et,"fmtLong");function ee(e,r,t){if(!(e<r))return e<r*1.5?Math.floor(e/r)+" "+t:Math.ceil(e/r)+" "+t+"s"}i(ee,"plural")});var he=y((l,Fe)=>{l=Fe.exports=ge.debug=ge.default=ge;l.coerce=ot;l.disable=nt;l.enable=tt;l.enabled=it;l.humanize=ze();l.names=[];l.skips=[];l.formatters={};var ve;function rt(e){var r=0,t;for(t in e)r=(r<<5)-r+e.charCodeAt(t),r|=0;return l.colors[Math.abs(r)%l.colors.length]}i(rt,"selectColor");function ge(e){function r(){if(r.enabled){var t=r,n=+new Date,o=n-(ve||n);t.diff=o,t.prev=ve,t.curr=n,ve=n;for(var s=new Array(arguments.length),a=0;a<s.length;a++)s[a]=arguments[a];s[0]=l.coerce(s[0]),typeof s[0]!="string"&&s.unshift("%O");var f=0;s[0]=s[0].replace(/%([a-zA-Z%])/g,function(v,g){if(v==="%%")return v;f++;var S=l.formatters[g];if(typeof S=="function"){var E=s[f];v=S.call(t,E),s.splice(f,1),f--}return v}),l.formatArgs.call(t,s);var m=r.log||l.log||console.log.bind(console);m.apply(t,s)}}return i(r,"debug"),r.namespace=e,r.enabled=l.enabled(e),r.useColors=l.useColors(),r.color=rt(e),typeof l.init=="function"&&l.init(r),r}i(ge,"createDebug");function tt(e){l.save(e),l.names=[],l.skips=[];for(var r=(typeof e=="string"?e:"").split(/[\s,]+/),t=r.length,n=0;n<t;n++)r[n]&&(e=r[n].replace(/\*/g,".*?"),e[0]==="-"?l.skips.push(new RegExp("^"+e.substr(1)+"$")):l.names.push(new RegExp("^"+e+"$")))}i(tt,"enable");function nt(){l.enable("")}i(nt,"disable");function it(e){var r,t;for(r=0,t=l.skips.length;r<t;r++)if(l.skips[r].test(e))return!1;for(r=0,t=l.names.length;r<t;r++)if(l.names[r].test(e))return!0;return!1}i(it,"enabled");function ot(e){return e instanceof Error?e.stack||e.message:e}i(ot,"coerce")});var We=y((w,Ge)=>{w=Ge.exports=he();w.log=ut;w.formatArgs=at;w.save=ft;w.load=$e;w.useColors=st;w.storage=typeof chrome<"u"&&typeof chrome.storage<"u"?chrome.storage.local:ct();w.colors=["lightseagreen","forestgreen","goldenrod","dodgerblue","darkorchid","crimson"];function st(){return typeof window<"u"&&window.process&&window.process.type==="renderer"?!0:typeof document<"u"&&document.documentElement&&document.documentElement.style&&document.documentElement.style.WebkitAppearance||typeof window<"u"&&window.console&&(window.console.firebug||window.console.exception&&window.console.table)||typeof navigator<"u"&&navigator.userAgent&&navigator.userAgent.toLowerCase().match(/firefox\/(\d+)/)&&parseInt(RegExp.$1,10)>=31||typeof navigator<"u"&&navigator.userAgent&&navigator.userAgent.toLowerCase().match(/applewebkit\/(\d+)/)}i(st,"useColors");w.formatters.j=function(e){try{return JSON.stringify(e)}catch(r){return"[UnexpectedJSONParseError]: "+r.message}};function at(e){var r=this.useColors;if(e[0]=(r?"%c":"")+this.namespace+(r?" %c":" ")+e[0]+(r?"%c ":" ")+"+"+w.humanize(this.diff),!!r){var t="color: "+this.color;e.splice(1,0,t,"color: inherit");var n=0,o=0;e[0].replace(/%[a-zA-Z%]/g,function(s){s!=="%%"&&(n++,s==="%c"&&(o=n))}),e.splice(o,0,t)}}i(at,"formatArgs");function ut(){return typeof console=="object"&&console.log&&Function.prototype.apply.call(console.log,console,arguments)}i(ut,"log");function ft(e){try{e==null?w.storage.removeItem("debug"):w.storage.debug=e}catch{}}i(ft,"save");function $e(){var e;try{e=w.storage.debug}catch{}return!e&&typeof process<"u"&&"env"in process&&(e=process.env.DEBUG),e}i($e,"load");w.enable($e());function ct(){try{return window.localStorage}catch{}}i(ct,"localstorage")});var Ze=y((h,Xe)=>{var Je=require("tty"),G=require("util");h=Xe.exports=he();h.init=yt;h.log=vt;h.formatArgs=dt;h.save=gt;h.load=Ve;h.useColors=pt;h.colors=[6,2,3,4,5,1];h.inspectOpts=Object.keys(process.env).filter(function(e){return/^debug_/i.test(e)}).reduce(function(e,r){var t=r.substring(6).toLowerCase().replace(/_([a-z])/g,function(o,s){return s.toUpperCase()}),n=process.env[r];return/^(yes|on|true|enabled)$/i.test(n)?n=!0:/^(no|off|false|disabled)$/i.test(n)?n=!1:n==="null"?n=null:n=Number(n),e[t]=n,e},{});var N=parseInt(process.env.DEBUG_FD,10)||2;N!==1&&N!==2&&G.deprecate(function(){},"except for stderr(2) and stdout(1), any other usage of DEBUG_FD is deprecated. Override debug.log if you want to use a different log function (https://git.io/debug_fd)")();var lt=N===1?process.stdout:N===2?process.stderr:ht(N);function pt(){return"colors"in h.inspectOpts?!!h.inspectOpts.colors:Je.isatty(N)}i(pt,"useColors");h.formatters.o=function(e){return this.inspectOpts.colors=this.useColors,G.inspect(e,this.inspectOpts).split(`
`).map(function(r){return r.trim()}).join(" ")};h.formatters.O=function(e){return this.inspectOpts.colors=this.useColors,G.inspect(e,this.inspectOpts)};function dt(e){var r=this.namespace,t=this.useColors;if(t){var n=this.color,o="  \x1B[3"+n+";1m"+r+" \x1B[0m";e[0]=o+e[0].split(`
`).join(`
`+o),e.push("\x1B[3"+n+"m+"+h.humanize(this.diff)+"\x1B[0m")}else e[0]=new Date().toUTCString()+" "+r+" "+e[0]}i(dt,"formatArgs");function vt(){return lt.write(G.format.apply(G,arguments)+`
`)}i(vt,"log");function gt(e){e==null?delete process.env.DEBUG:process.env.DEBUG=e}i(gt,"save");function Ve(){return process.env.DEBUG}i(Ve,"load");function ht(e){var r,t=process.binding("tty_wrap");switch(t.guessHandleType(e)){case"TTY":r=new Je.WriteStream(e),r._type="tty",r._handle&&r._handle.unref&&r._handle.unref();break;case"FILE":var n=require("fs");r=new n.SyncWriteStream(e,{autoClose:!1}),r._type="fs";break;case"PIPE":case"TCP":var o=require("net");r=new o.Socket({fd:e,readable:!1,writable:!0}),r.readable=!1,r.read=null,r._type="pipe",r._handle&&r._handle.unref&&r._handle.unref();break;default:throw new Error("Implement me. Unknown stream file type!")}return r.fd=e,r._isStdio=!0,r}i(ht,"createWritableStdioStream");function yt(e){e.inspectOpts={};for(var r=Object.keys(h.inspectOpts),t=0;t<r.length;t++)e.inspectOpts[r[t]]=h.inspectOpts[r[t]]}i(yt,"init");h.enable(Ve())});var Ye=y((An,ye)=>{typeof process<"u"&&process.type==="renderer"?ye.exports=We():ye.exports=Ze()});var we=y((kn,er)=>{var mt=require("path").relative;er.exports=Et;var wt=process.cwd();function Ke(e,r){for(var t=e.split(/[ ,]+/),n=String(r).toLowerCase(),o=0;o<t.length;o++){var s=t[o];if(s&&(s==="*"||s.toLowerCase()===n))return!0}return!1}i(Ke,"containsNamespace");function bt(e,r,t){var n=Object.getOwnPropertyDescriptor(e,r),o=n.value;return n.get=i(function(){return o},"getter"),n.writable&&(n.set=i(function(a){return o=a},"setter")),delete n.value,delete n.writable,Object.defineProperty(e,r,n),n}i(bt,"convertDataDescriptorToAccessor");function xt(e){for(var r="",t=0;t<e;t++)r+=", arg"+t;return r.substr(2)}i(xt,"createArgumentsString");function St(e){var r=this.name+": "+this.namespace;this.message&&(r+=" deprecated "+this.message);for(var t=0;t<e.length;t++)r+=`
    at `+e[t].toString();return r}i(St,"createStackString");function Et(e){if(!e)throw new TypeError("argument namespace is required");var r=te(),t=M(r[1]),n=t[0];function o(s){re.call(o,s)}return i(o,"deprecate"),o._file=n,o._ignored=At(e),o._namespace=e,o._traced=kt(e),o._warned=Object.create(null),o.function=Ct,o.property=It,o}i(Et,"depd");function Ot(e,r){var t=typeof e.listenerCount!="function"?e.listeners(r).length:e.listenerCount(r);return t>0}i(Ot,"eehaslisteners");function At(e){if(process.noDeprecation)return!0;var r=process.env.NO_DEPRECATION||"";return Ke(r,e)}i(At,"isignored");function kt(e){if(process.traceDeprecation)return!0;var r=process.env.TRACE_DEPRECATION||"";return Ke(r,e)}i(kt,"istraced");function re(e,r){var t=Ot(process,"deprecation");if(!(!t&&this._ignored)){var n,o,s,a,f=0,m=!1,v=te(),g=this._file;for(r?(a=r,s=M(v[1]),s.name=a.name,g=s[0]):(f=2,a=M(v[f]),s=a);f<v.length;f++)if(n=M(v[f]),o=n[0],o===g)m=!0;else if(o===this._file)g=this._file;else if(m)break;var S=n?a.join(":")+"__"+n.join(":"):void 0;if(!(S!==void 0&&S in this._warned)){this._warned[S]=!0;var E=e;if(E||(E=s===a||!s.name?Qe(a):Qe(s)),t){var C=qe(this._namespace,E,v.slice(f));process.emit("deprecation",C);return}var b=process.stderr.isTTY?_t:Dt,c=b.call(this,E,n,v.slice(f));process.stderr.write(c+`
`,"utf8")}}}i(re,"log");function M(e){var r=e.getFileName()||"<anonymous>",t=e.getLineNumber(),n=e.getColumnNumber();e.isEval()&&(r=e.getEvalOrigin()+", "+r);var o=[r,t,n];return o.callSite=e,o.name=e.getFunctionName(),o}i(M,"callSiteLocation");function Qe(e){var r=e.callSite,t=e.name;t||(t="<anonymous@"+me(e)+">");var n=r.getThis(),o=n&&r.getTypeName();return o==="Object"&&(o=void 0),o==="Function"&&(o=n.name||o),o&&r.getMethodName()?o+"."+t:t}i(Qe,"defaultMessage");function Dt(e,r,t){var n=new Date().toUTCString(),o=n+" "+this._namespace+" deprecated "+e;if(this._traced){for(var s=0;s<t.length;s++)o+=`
    at `+t[s].toString();return o}return r&&(o+=" at "+me(r)),o}i(Dt,"formatPlain");function _t(e,r,t){var n="\x1B[36;1m"+this._namespace+"\x1B[22;39m \x1B[33;1mdeprecated\x1B[22;39m \x1B[0m"+e+"\x1B[39m";if(this._traced){for(var o=0;o<t.length;o++)n+=`
    \x1B[36mat `+t[o].toString()+"\x1B[39m";return n}return r&&(n+=" \x1B[36m"+me(r)+"\x1B[39m"),n}i(_t,"formatColor");function me(e){return mt(wt,e[0])+":"+e[1]+":"+e[2]}i(me,"formatLocation");function te(){var e=Error.stackTraceLimit,r={},t=Error.prepareStackTrace;Error.prepareStackTrace=Tt,Error.stackTraceLimit=Math.max(10,e),Error.captureStackTrace(r);var n=r.stack.slice(1);return Error.prepareStackTrace=t,Error.stackTraceLimit=e,n}i(te,"getStack");function Tt(e,r){return r}i(Tt,"prepareObjectStackTrace");function Ct(e,r){if(typeof e!="function")throw new TypeError("argument fn must be a function");var t=xt(e.length),n=te(),o=M(n[1]);o.name=e.name;var s=new Function("fn","log","deprecate","message","site",`"use strict"
return function (`+t+`) {log.call(deprecate, message, site)
return fn.apply(this, arguments)
}`)(e,re,this,r,o);return s}i(Ct,"wrapfunction");function It(e,r,t){if(!e||typeof e!="object"&&typeof e!="function")throw new TypeError("argument obj must be object");var n=Object.getOwnPropertyDescriptor(e,r);if(!n)throw new TypeError("must call property on owner object");if(!n.configurable)throw new TypeError("property must be configurable");var o=this,s=te(),a=M(s[1]);a.name=r,"value"in n&&(n=bt(e,r,t));var f=n.get,m=n.set;typeof f=="function"&&(n.get=i(function(){return re.call(o,t,a),f.apply(this,arguments)},"getter")),typeof m=="function"&&(n.set=i(function(){return re.call(o,t,a),m.apply(this,arguments)},"setter")),Object.defineProperty(e,r,n)}i(It,"wrapproperty");function qe(e,r,t){var n=new Error,o;return Object.defineProperty(n,"constructor",{value:qe}),Object.defineProperty(n,"message",{configurable:!0,enumerable:!1,value:r,writable:!0}),Object.defineProperty(n,"name",{enumerable:!1,configurable:!0,value:"DeprecationError",writable:!0}),Object.defineProperty(n,"namespace",{configurable:!0,enumerable:!1,value:e,writable:!0}),Object.defineProperty(n,"stack",{configurable:!0,enumerable:!1,get:i(function(){return o!==void 0?o:o=St.call(this,t)},"get"),set:i(function(a){o=a},"setter")}),n}i(qe,"DeprecationError")});var tr=y((_n,rr)=>{"use strict";rr.exports=Ut;var Pt=require("http"),jt=typeof Pt.ServerResponse.prototype.appendHeader=="function",Nt=jt?zt:Ft;function Mt(e,r){var t=!1;return i(function(o){var s=Lt.apply(this,arguments);return t||(t=!0,r.call(this),typeof s[0]=="number"&&this.statusCode!==s[0]&&(s[0]=this.statusCode,s.length=1)),e.apply(this,s)},"writeHead")}i(Mt,"createWriteHead");function Ut(e,r){if(!e)throw new TypeError("argument res is required");if(typeof r!="function")throw new TypeError("argument listener must be a function");e.writeHead=Mt(e.writeHead,r)}i(Ut,"onHeaders");function Bt(e,r){if(r.length&&Array.isArray(r[0]))Rt(e,r);else{if(r.length%2!==0)throw new TypeError("headers array is malformed");Nt(e,r)}}i(Bt,"setHeadersFromArray");function Ht(e,r){for(var t=Object.keys(r),n=0;n<t.length;n++){var o=t[n];o&&e.setHeader(o,r[o])}}i(Ht,"setHeadersFromObject");function Lt(e){var r=arguments.length,t=r>1&&typeof arguments[1]=="string"?2:1,n=r>=t+1?arguments[t]:void 0;this.statusCode=e,Array.isArray(n)?Bt(this,n):n&&Ht(this,n);for(var o=new Array(Math.min(r,t)),s=0;s<o.length;s++)o[s]=arguments[s];return o}i(Lt,"setWriteHeadHeaders");function Rt(e,r){for(var t,n=0;n<r.length;n++)t=r[n][0],t&&e.setHeader(t,r[n][1])}i(Rt,"set2dArray");function zt(e,r){for(var t=0;t<r.length;t+=2)e.removeHeader(r[t]);for(var n,o=0;o<r.length;o+=2)n=r[o],n&&e.appendHeader(n,r[o+1])}i(zt,"set1dArrayWithAppend");function Ft(e,r){for(var t,n=0;n<r.length;n+=2)t=r[n],t&&e.setHeader(t,r[n+1])}i(Ft,"set1dArrayWithSet")});var ur=y((Cn,be)=>{"use strict";var ir=require("url"),nr=ir.parse,ne=ir.Url;be.exports=or;be.exports.original=$t;function or(e){var r=e.url;if(r!==void 0){var t=e._parsedUrl;return ar(r,t)?t:(t=sr(r),t._raw=r,e._parsedUrl=t)}}i(or,"parseurl");function $t(e){var r=e.originalUrl;if(typeof r!="string")return or(e);var t=e._parsedOriginalUrl;return ar(r,t)?t:(t=sr(r),t._raw=r,e._parsedOriginalUrl=t)}i($t,"originalurl");function sr(e){if(typeof e!="string"||e.charCodeAt(0)!==47)return nr(e);for(var r=e,t=null,n=null,o=1;o<e.length;o++)switch(e.charCodeAt(o)){case 63:n===null&&(r=e.substring(0,o),t=e.substring(o+1),n=e.substring(o));break;case 9:case 10:case 12:case 13:case 32:case 35:case 160:case 65279:return nr(e)}var s=ne!==void 0?new ne:{};return s.path=e,s.href=e,s.pathname=r,n!==null&&(s.query=t,s.search=n),s}i(sr,"fastparse");function ar(e,r){return typeof r=="object"&&r!==null&&(ne===void 0||r instanceof ne)&&r._raw===e}i(ar,"fresh")});var lr=y(ie=>{var cr=require("crypto");ie.sign=function(e,r){if(typeof e!="string")throw new TypeError("Cookie value must be provided as a string.");if(r==null)throw new TypeError("Secret key must be provided.");return e+"."+cr.createHmac("sha256",r).update(e).digest("base64").replace(/\=+$/,"")};ie.unsign=function(e,r){if(typeof e!="string")throw new TypeError("Signed cookie string must be provided.");if(r==null)throw new TypeError("Secret key must be provided.");var t=e.slice(0,e.lastIndexOf(".")),n=ie.sign(t,r);return fr(n)==fr(e)?t:!1};function fr(e){return cr.createHash("sha1").update(e).digest("hex")}i(fr,"sha1")});var pr=y((Nn,Ee)=>{"use strict";var oe=require("crypto"),xe=oe.randomBytes===oe.pseudoRandomBytes?1:3;Ee.exports=Gt;Ee.exports.sync=Wt;function Gt(e,r){if(r!==void 0&&typeof r!="function")throw new TypeError("argument callback must be a function");if(!r&&!global.Promise)throw new TypeError("argument callback is required");return r?Se(e,xe,r):new Promise(i(function(n,o){Se(e,xe,i(function(a,f){if(a)return o(a);n(f)},"onRandomBytes"))},"executor"))}i(Gt,"randomBytes");function Wt(e){for(var r=null,t=0;t<xe;t++)try{return oe.randomBytes(e)}catch(n){r=n}throw r}i(Wt,"randomBytesSync");function Se(e,r,t){oe.randomBytes(e,i(function(o,s){if(!o)return t(null,s);if(!--r)return t(o);setTimeout(Se.bind(null,e,r,t),10)},"onRandomBytes"))}i(Se,"generateRandomBytes")});var hr=y((Un,Oe)=>{"use strict";var vr=pr(),Jt=/=+$/,Vt=/\+/g,Xt=/\//g;Oe.exports=Zt;Oe.exports.sync=Yt;function Zt(e,r){if(r!==void 0&&typeof r!="function")throw new TypeError("argument callback must be a function");if(!r&&!global.Promise)throw new TypeError("argument callback is required");return r?dr(e,r):new Promise(i(function(n,o){dr(e,i(function(a,f){if(a)return o(a);n(f)},"onUid"))},"executor"))}i(Zt,"uid");function Yt(e){return gr(vr.sync(e))}i(Yt,"uidSync");function dr(e,r){vr(e,function(t,n){if(t)return r(t);r(null,gr(n))})}i(dr,"generateUid");function gr(e){return e.toString("base64").replace(Jt,"").replace(Vt,"-").replace(Xt,"_")}i(gr,"toString")});var Ae=y((Hn,yr)=>{"use strict";var Qt=de(),Kt=we()("express-session"),qt=yr.exports=i(function(r){if(this.path="/",this.maxAge=null,this.httpOnly=!0,r){if(typeof r!="object")throw new TypeError("argument options must be a object");for(var t in r)t!=="data"&&(this[t]=r[t])}(this.originalMaxAge===void 0||this.originalMaxAge===null)&&(this.originalMaxAge=this.maxAge)},"Cookie");qt.prototype={set expires(e){this._expires=e,this.originalMaxAge=this.maxAge},get expires(){return this._expires},set maxAge(e){if(e&&typeof e!="number"&&!(e instanceof Date))throw new TypeError("maxAge must be a number or Date");e instanceof Date&&Kt("maxAge as Date; pass number of milliseconds instead"),this.expires=typeof e=="number"?new Date(Date.now()+e):e},get maxAge(){return this.expires instanceof Date?this.expires.valueOf()-Date.now():this.expires},get data(){return{originalMaxAge:this.originalMaxAge,partitioned:this.partitioned,priority:this.priority,expires:this._expires,secure:this.secure,httpOnly:this.httpOnly,domain:this.domain,path:this.path,sameSite:this.sameSite}},serialize:i(function(e,r){return Qt.serialize(e,r,this.data)},"serialize"),toJSON:i(function(){return this.data},"toJSON")}});var ke=y((Rn,mr)=>{"use strict";mr.exports=P;function P(e,r){if(Object.defineProperty(this,"req",{value:e}),Object.defineProperty(this,"id",{value:e.sessionID}),typeof r=="object"&&r!==null)for(var t in r)t in this||(this[t]=r[t])}i(P,"Session");U(P.prototype,"touch",i(function(){return this.resetMaxAge()},"touch"));U(P.prototype,"resetMaxAge",i(function(){return this.cookie.maxAge=this.cookie.originalMaxAge,this},"resetMaxAge"));U(P.prototype,"save",i(function(r){return this.req.sessionStore.set(this.id,this,r||function(){}),this},"save"));U(P.prototype,"reload",i(function(r){var t=this.req,n=this.req.sessionStore;return n.get(this.id,function(o,s){if(o)return r(o);if(!s)return r(new Error("failed to load session"));n.createSession(t,s),r()}),this},"reload"));U(P.prototype,"destroy",i(function(r){return delete this.req.session,this.req.sessionStore.destroy(this.id,r),this},"destroy"));U(P.prototype,"regenerate",i(function(r){return this.req.sessionStore.regenerate(this.req,r),this},"regenerate"));function U(e,r,t){Object.defineProperty(e,r,{configurable:!0,enumerable:!1,value:t,writable:!0})}i(U,"defineMethod")});var De=y((Fn,br)=>{"use strict";var en=Ae(),wr=require("events").EventEmitter,rn=ke(),tn=require("util");br.exports=W;function W(){wr.call(this)}i(W,"Store");tn.inherits(W,wr);W.prototype.regenerate=function(e,r){var t=this;this.destroy(e.sessionID,function(n){t.generate(e),r(n)})};W.prototype.load=function(e,r){var t=this;this.get(e,function(n,o){if(n)return r(n);if(!o)return r();var s={sessionID:e,sessionStore:t};r(null,t.createSession(s,o))})};W.prototype.createSession=function(e,r){var t=r.cookie.expires,n=r.cookie.originalMaxAge;return r.cookie=new en(r.cookie),typeof t=="string"&&(r.cookie.expires=new Date(t)),r.cookie.originalMaxAge=n,e.session=new rn(e,r),e.session}});var Er=y((Gn,Sr)=>{"use strict";var xr=De(),nn=require("util"),B=typeof setImmediate=="function"?setImmediate:function(e){process.nextTick(e.bind.apply(e,arguments))};Sr.exports=_;function _(){xr.call(this),this.sessions=Object.create(null)}i(_,"MemoryStore");nn.inherits(_,xr);_.prototype.all=i(function(r){for(var t=Object.keys(this.sessions),n=Object.create(null),o=0;o<t.length;o++){var s=t[o],a=_e.call(this,s);a&&(n[s]=a)}r&&B(r,null,n)},"all");_.prototype.clear=i(function(r){this.sessions=Object.create(null),r&&B(r)},"clear");_.prototype.destroy=i(function(r,t){delete this.sessions[r],t&&B(t)},"destroy");_.prototype.get=i(function(r,t){B(t,null,_e.call(this,r))},"get");_.prototype.set=i(function(r,t,n){this.sessions[r]=JSON.stringify(t),n&&B(n)},"set");_.prototype.length=i(function(r){this.all(function(t,n){if(t)return r(t);r(null,Object.keys(n).length)})},"length");_.prototype.touch=i(function(r,t,n){var o=_e.call(this,r);o&&(o.cookie=t.cookie,this.sessions[r]=JSON.stringify(o)),n&&B(n)},"touch");function _e(e){var r=this.sessions[e];if(r){if(r=JSON.parse(r),r.cookie){var t=typeof r.cookie.expires=="string"?new Date(r.cookie.expires):r.cookie.expires;if(t&&t<=Date.now()){delete this.sessions[e];return}}return r}}i(_e,"getSession")});var Or=Be().Buffer,Dr=de(),on=require("crypto"),d=Ye()("express-session"),V=we()("express-session"),sn=tr(),an=ur(),_r=lr(),un=hr().sync,Tr=Ae(),Te=Er(),Cr=ke(),fn=De(),cn=process.env.NODE_ENV;exports=module.exports=pn;exports.Store=fn;exports.Cookie=Tr;exports.Session=Cr;exports.MemoryStore=Te;var ln=`Warning: connect.session() MemoryStore is not
designed for a production environment, as it will leak
memory, and will not scale past a single process.`,se=typeof setImmediate=="function"?setImmediate:function(e){process.nextTick(e.bind.apply(e,arguments))};function pn(e){var r=e||{},t=r.cookie||{},n=r.genid||dn,o=r.name||r.key||"connect.sid",s=r.store||new Te,a=r.proxy,f=r.resave,m=!!r.rolling,v=r.saveUninitialized,g=r.secret;if(typeof n!="function")throw new TypeError("genid option must be a function");if(f===void 0&&(V("undefined resave option; provide resave option"),f=!0),v===void 0&&(V("undefined saveUninitialized option; provide saveUninitialized option"),v=!0),r.unset&&r.unset!=="destroy"&&r.unset!=="keep")throw new TypeError('unset option must be "destroy" or "keep"');var S=r.unset==="destroy";if(Array.isArray(g)&&g.length===0)throw new TypeError("secret option array must contain one or more strings");g&&!Array.isArray(g)&&(g=[g]),g||V("req.secret; provide secret option"),cn==="production"&&s instanceof Te&&console.warn(ln),s.generate=function(b){b.sessionID=n(b),b.session=new Cr(b),b.session.cookie=new Tr(typeof t=="function"?t(b):t);var c=Ar(b,a);t.secure==="auto"&&(b.session.cookie.secure=c),t.sameSite==="auto"&&(b.session.cookie.sameSite=c?"none":"lax")};var E=typeof s.touch=="function",C=!0;return s.on("disconnect",i(function(){C=!1},"ondisconnect")),s.on("connect",i(function(){C=!0},"onconnect")),i(function(c,x,O){if(c.session){O();return}if(!C){d("store is disconnected"),O();return}var Ir=an.original(c).pathname||"/",Pr=typeof t=="function"?t(c):t;if(Ir.indexOf(Pr.path||"/")!==0){d("pathname mismatch"),O();return}if(!g&&!c.secret){O(new Error("secret option required for sessions"));return}var Ce=g||[c.secret],X,Z,Y,Q=!1;c.sessionStore=s;var ae=c.sessionID=vn(c,o,Ce);sn(x,function(){if(!c.session){d("no session");return}if(Hr(c)){if(c.session.cookie.secure&&!Ar(c,a)){d("not secured");return}Q||(c.session.touch(),Q=!0);try{gn(x,o,c.sessionID,Ce[0],c.session.cookie.data)}catch(u){se(O,u)}}});var K=x.end,Ie=x.write,Pe=!1;x.end=i(function(p,A){if(Pe)return!1;Pe=!0;var k,j=!0;function H(){if(j){k=K.call(x,p,A),j=!1;return}K.call(x)}i(H,"writeend");function ce(){if(!j)return k;if(x._header||x._implicitHeader(),p==null)return k=!0,k;var L=Number(x.getHeader("Content-Length"));return!isNaN(L)&&L>0&&(p=Or.isBuffer(p)?p:Or.from(p,A),A=void 0,p.length!==0)?(d("split response"),k=Ie.call(x,p.slice(0,p.length-1)),p=p.slice(p.length-1,p.length),k):(k=Ie.call(x,p,A),j=!1,k)}return i(ce,"writetop"),Ur(c)?(d("destroying"),s.destroy(c.sessionID,i(function(T){T&&se(O,T),d("destroyed"),H()},"ondestroy")),ce()):c.session?(Q||(c.session.touch(),Q=!0),Ne(c)?(c.session.save(i(function(T){T&&se(O,T),H()},"onsave")),ce()):E&&Br(c)?(d("touching"),s.touch(c.sessionID,c.session,i(function(T){T&&se(O,T),d("touched"),H()},"ontouch")),ce()):K.call(x,p,A)):(d("no session"),K.call(x,p,A))},"end");function je(){s.generate(c),Z=c.sessionID,X=J(c.session),ue(c.session)}i(je,"generate");function jr(u,p){s.createSession(u,p),Z=u.sessionID,X=J(p),f||(Y=X),ue(u.session)}i(jr,"inflate");function Nr(u,p){return function(){c.session!==u&&ue(c.session),p.apply(this,arguments)}}i(Nr,"rewrapmethods");function ue(u){var p=u.reload,A=u.save;function k(H){d("reloading %s",this.id),p.call(this,Nr(this,H))}i(k,"reload");function j(){d("saving %s",this.id),Y=J(this),A.apply(this,arguments)}i(j,"save"),Object.defineProperty(u,"reload",{configurable:!0,enumerable:!1,value:k,writable:!0}),Object.defineProperty(u,"save",{configurable:!0,enumerable:!1,value:j,writable:!0})}i(ue,"wrapmethods");function fe(u){return Z!==u.id||X!==J(u)}i(fe,"isModified");function Mr(u){return Z===u.id&&Y===J(u)}i(Mr,"isSaved");function Ur(u){return u.sessionID&&S&&u.session==null}i(Ur,"shouldDestroy");function Ne(u){return typeof u.sessionID!="string"?(d("session ignored because of bogus req.sessionID %o",u.sessionID),!1):!v&&!Y&&ae!==u.sessionID?fe(u.session):!Mr(u.session)}i(Ne,"shouldSave");function Br(u){return typeof u.sessionID!="string"?(d("session ignored because of bogus req.sessionID %o",u.sessionID),!1):ae===u.sessionID&&!Ne(u)}i(Br,"shouldTouch");function Hr(u){return typeof u.sessionID!="string"?!1:ae!==u.sessionID?v||fe(u.session):m||u.session.cookie.expires!=null&&fe(u.session)}if(i(Hr,"shouldSetCookie"),!c.sessionID){d("no SID sent, generating session"),je(),O();return}d("fetching %s",c.sessionID),s.get(c.sessionID,function(u,p){if(u&&u.code!=="ENOENT"){d("error %j",u),O(u);return}try{u||!p?(d("no session found"),je()):(d("session found"),jr(c,p))}catch(A){O(A);return}O()})},"session")}i(pn,"session");function dn(){return un(24)}i(dn,"generateSessionId");function vn(e,r,t){var n=e.headers.cookie,o,s;if(n){var a=Dr.parse(n);o=a[r],o&&(o.substr(0,2)==="s:"?(s=kr(o.slice(2),t),s===!1&&(d("cookie signature invalid"),s=void 0)):d("cookie unsigned"))}return!s&&e.signedCookies&&(s=e.signedCookies[r],s&&V("cookie should be available in req.headers.cookie")),!s&&e.cookies&&(o=e.cookies[r],o&&(o.substr(0,2)==="s:"?(s=kr(o.slice(2),t),s&&V("cookie should be available in req.headers.cookie"),s===!1&&(d("cookie signature invalid"),s=void 0)):d("cookie unsigned"))),s}i(vn,"getcookie");function J(e){var r=JSON.stringify(e,function(t,n){if(!(this===e&&t==="cookie"))return n});return on.createHash("sha1").update(r,"utf8").digest("hex")}i(J,"hash");function Ar(e,r){if(e.connection&&e.connection.encrypted)return!0;if(r===!1)return!1;if(r!==!0)return e.secure===!0;var t=e.headers["x-forwarded-proto"]||"",n=t.indexOf(","),o=n!==-1?t.substr(0,n).toLowerCase().trim():t.toLowerCase().trim();return o==="https"}i(Ar,"issecure");function gn(e,r,t,n,o){var s="s:"+_r.sign(t,n),a=Dr.serialize(r,s,o);d("set-cookie %s",a);var f=e.getHeader("Set-Cookie")||[],m=Array.isArray(f)?f.concat(a):[f,a];e.setHeader("Set-Cookie",m)}i(gn,"setcookie");function kr(e,r){for(var t=0;t<r.length;t++){var n=_r.unsign(e,r[t]);if(n!==!1)return n}return!1}i(kr,"unsigncookie");
/*! Bundled license information:

safe-buffer/index.js:
  (*! safe-buffer. MIT License. Feross Aboukhadijeh <https://feross.org/opensource> *)

cookie/index.js:
  (*!
   * cookie
   * Copyright(c) 2012-2014 Roman Shtylman
   * Copyright(c) 2015 Douglas Christopher Wilson
   * MIT Licensed
   *)

depd/index.js:
  (*!
   * depd
   * Copyright(c) 2014-2018 Douglas Christopher Wilson
   * MIT Licensed
   *)

on-headers/index.js:
  (*!
   * on-headers
   * Copyright(c) 2014 Douglas Christopher Wilson
   * MIT Licensed
   *)

parseurl/index.js:
  (*!
   * parseurl
   * Copyright(c) 2014 Jonathan Ong
   * Copyright(c) 2014-2017 Douglas Christopher Wilson
   * MIT Licensed
   *)

random-bytes/index.js:
  (*!
   * random-bytes
   * Copyright(c) 2016 Douglas Christopher Wilson
   * MIT Licensed
   *)

uid-safe/index.js:
  (*!
   * uid-safe
   * Copyright(c) 2014 Jonathan Ong
   * Copyright(c) 2015-2017 Douglas Christopher Wilson
   * MIT Licensed
   *)

express-session/session/cookie.js:
  (*!
   * Connect - session - Cookie
   * Copyright(c) 2010 Sencha Inc.
   * Copyright(c) 2011 TJ Holowaychuk
   * MIT Licensed
   *)
  (*!
   * Prototype.
   *)

express-session/session/session.js:
  (*!
   * Connect - session - Session
   * Copyright(c) 2010 Sencha Inc.
   * Copyright(c) 2011 TJ Holowaychuk
   * MIT Licensed
   *)

express-session/session/store.js:
  (*!
   * Connect - session - Store
   * Copyright(c) 2010 Sencha Inc.
   * Copyright(c) 2011 TJ Holowaychuk
   * MIT Licensed
   *)

express-session/session/memory.js:
  (*!
   * express-session
   * Copyright(c) 2010 Sencha Inc.
   * Copyright(c) 2011 TJ Holowaychuk
   * Copyright(c) 2015 Douglas Christopher Wilson
   * MIT Licensed
   *)

express-session/index.js:
  (*!
   * express-session
   * Copyright(c) 2010 Sencha Inc.
   * Copyright(c) 2011 TJ Holowaychuk
   * Copyright(c) 2014-2015 Douglas Christopher Wilson
   * MIT Licensed
   *)
*/

/*
node_modules/cookie
(The MIT License)

Copyright (c) 2012-2014 Roman Shtylman <shtylman@gmail.com>
Copyright (c) 2015 Douglas Christopher Wilson <doug@somethingdoug.com>

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
'Software'), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED 'AS IS', WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/cookie-signature
MIT
*/

/*
node_modules/debug
(The MIT License)

Copyright (c) 2014 TJ Holowaychuk <tj@vision-media.ca>

Permission is hereby granted, free of charge, to any person obtaining a copy of this software 
and associated documentation files (the 'Software'), to deal in the Software without restriction, 
including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, 
and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial 
portions of the Software.

THE SOFTWARE IS PROVIDED 'AS IS', WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT 
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. 
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, 
WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE 
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/depd
(The MIT License)

Copyright (c) 2014-2018 Douglas Christopher Wilson

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
'Software'), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED 'AS IS', WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/express-session
(The MIT License)

Copyright (c) 2010 Sencha Inc.
Copyright (c) 2011 TJ Holowaychuk <tj@vision-media.ca>
Copyright (c) 2014-2015 Douglas Christopher Wilson <doug@somethingdoug.com>

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
'Software'), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED 'AS IS', WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/ms
The MIT License (MIT)

Copyright (c) 2016 Zeit, Inc.

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
*/

/*
node_modules/on-headers
(The MIT License)

Copyright (c) 2014 Douglas Christopher Wilson

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
'Software'), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED 'AS IS', WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/parseurl
(The MIT License)

Copyright (c) 2014 Jonathan Ong <me@jongleberry.com>
Copyright (c) 2014-2017 Douglas Christopher Wilson <doug@somethingdoug.com>

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
'Software'), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED 'AS IS', WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/

/*
node_modules/random-bytes
The MIT License (MIT)

Copyright (c) 2016 Douglas Christopher Wilson <doug@somethingdoug.com>

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/

/*
node_modules/safe-buffer
The MIT License (MIT)

Copyright (c) Feross Aboukhadijeh

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/

/*
node_modules/uid-safe
The MIT License (MIT)

Copyright (c) 2014 Jonathan Ong <me@jongleberry.com>
Copyright (c) 2015-2017 Douglas Christopher Wilson <doug@somethingdoug.com>

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/

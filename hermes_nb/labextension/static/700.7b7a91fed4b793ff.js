"use strict";(self.rspackChunkhermes_nb=self.rspackChunkhermes_nb||[]).push([[700],{646(n,e,o){var r=o(601),t=o.n(r),a=o(314),i=o.n(a),p=o(918),l=i()(t());l.i(p.A),l.push([n.id,`/* The look of hermes_nb's widgets and cards: Lab's own variables, a mark beside every colour. */
.hnb-panel {
  display: flex;
  flex-direction: column;
  gap: 8px;
  min-width: 180px;
  padding: 8px 12px 16px;
  overflow: auto;
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.4;
}

.hnb-panel [hidden] {
  display: none !important;
}

.hnb-panel h2,
.hnb-panel h3,
.hnb-panel p {
  margin: 0;
}

.hnb-panel .hnb-top {
  display: flex;
  align-items: center;
  justify-content: space-between;
  gap: 8px;
}

.hnb-panel h2 {
  font-size: var(--jp-ui-font-size2);
  font-weight: 600;
}

.hnb-panel h3 {
  display: inline;
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}

.hnb-panel .hnb-where {
  overflow: hidden;
  color: var(--jp-ui-font-color2);
  text-overflow: ellipsis;
  white-space: nowrap;
}

.hnb-panel .hnb-status:empty {
  display: none;
}

.hnb-panel .hnb-status {
  color: var(--jp-ui-font-color2);
}

.hnb-panel .hnb-alert {
  padding: 6px 8px;
  border-left: 3px solid var(--jp-error-color1);
  background: var(--jp-layout-color2);
}

.hnb-panel .hnb-alert::before {
  content: '⚠ ' / '';
}

.hnb-panel .hnb-guide {
  display: flex;
  flex-direction: column;
  align-items: flex-start;
  gap: 8px;
  padding: 8px 0;
}

.hnb-panel .hnb-guide code {
  padding: 2px 6px;
  border: 1px solid var(--jp-border-color2);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color2);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.hnb-panel .hnb-section {
  border-top: 1px solid var(--jp-border-color2);
}

.hnb-panel .hnb-section > summary {
  padding: 6px 2px;
  cursor: pointer;
}

.hnb-panel .hnb-count {
  margin-left: 6px;
  padding: 0 6px;
  border-radius: 8px;
  background: var(--jp-layout-color3);
  font-size: var(--jp-ui-font-size0);
}

.hnb-panel .hnb-count:empty {
  display: none;
}

.hnb-panel .hnb-empty {
  padding: 0 2px 8px 14px;
  color: var(--jp-ui-font-color2);
}

.hnb-panel .hnb-list {
  margin: 0;
  padding: 0 0 4px;
  list-style: none;
}

.hnb-panel .hnb-forks {
  margin: 4px 0 0 6px;
  padding: 0 0 0 8px;
  border-left: 2px solid var(--jp-border-color1);
}

.hnb-panel .hnb-row {
  padding: 6px 2px 6px 14px;
}

.hnb-panel .hnb-forks > .hnb-row {
  padding-left: 4px;
}

.hnb-panel .hnb-name {
  display: -webkit-box;
  overflow: hidden;
  font-weight: 500;
  overflow-wrap: anywhere;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 2;
}

.hnb-panel .hnb-forks > .hnb-row > .hnb-name::before {
  content: '↳ ' / 'fork: ';
}

.hnb-panel .hnb-about {
  color: var(--jp-ui-font-color2);
  font-size: var(--jp-ui-font-size0);
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}

.hnb-panel .hnb-question {
  margin-top: 4px;
  padding-left: 8px;
  border-left: 3px solid var(--jp-warn-color1);
}

.hnb-panel .hnb-buttons {
  display: flex;
  flex-wrap: wrap;
  gap: 4px;
  margin-top: 4px;
}

.hnb-panel .hnb-button {
  box-sizing: border-box;
  padding: 2px 8px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color2);
  font: inherit;
  font-size: var(--jp-ui-font-size0);
  line-height: 18px;
  text-decoration: none;
  cursor: pointer;
  transition: background-color 80ms;
}

.hnb-panel .hnb-make {
  margin: 0 0 10px 14px;
}

.hnb-panel .hnb-button:hover:not(:disabled) {
  background: var(--jp-layout-color3);
}

.hnb-panel .hnb-button:disabled {
  opacity: 0.6;
  cursor: default;
}

.hnb-panel :focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}

.hnb-panel .hnb-stop::before {
  content: '■ ' / '';
  color: var(--jp-error-color1);
}

/* %%hermes cells */
.cm-line.hnb-head {
  box-shadow: inset 3px 0 0 #0072b2;
}

.cm-line .hnb-magic {
  color: var(--jp-mirror-editor-keyword-color);
  font-weight: 600;
}

/* The attribute colour of Lab 4.4 is too pale on its light background. */
.cm-line .hnb-option {
  color: #0b57a4;
}

[data-jp-theme-light='false'] .cm-line .hnb-option {
  color: #64b5f6;
}

.cm-line .hnb-variable {
  border-radius: 2px;
  color: var(--jp-mirror-editor-variable-2-color);
  background: var(--jp-layout-color2);
  outline: 1px solid var(--jp-border-color2);
}

/* Lab's own blue is too dark on that background. */
[data-jp-theme-light='false'] .cm-line .hnb-variable {
  color: #90caf9;
}

@media (prefers-reduced-motion: reduce) {
  .hnb-panel .hnb-button {
    transition: none;
  }
}
`,""]),o.d(e,{},{A:l})},918(n,e,o){var r=o(601),t=o.n(r),a=o(314),i=(o.n(a))()(t());i.push([n.id,`/* The look of what is saved in notebooks, from its Python modules: written by scripts/lab_extension.py. */
.hnb{font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:var(--jp-content-font-size1,14px);line-height:1.5;color:var(--jp-content-font-color1,inherit);max-width:60em;overflow-wrap:anywhere}
.hnb h4.hnb-heading{margin:8px 0 4px;font-size:1em;font-weight:600}
.hnb .hnb-row{padding:3px 0 3px 1.8em;text-indent:-1.8em;font-size:.93em;border-bottom:1px solid var(--jp-border-color2,rgba(128,128,128,.25))}
.hnb .hnb-row>*{text-indent:0}
.hnb .hnb-icon{display:inline-block;width:1.5em;text-align:center}
.hnb .hnb-meta,.hnb .hnb-dim,.hnb .hnb-total{color:var(--jp-content-font-color2,inherit)}
.hnb .hnb-row code{font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.93em;background:none;color:inherit;padding:0;white-space:normal}
.hnb .hnb-error{color:var(--jp-error-color1,#d9443f);font-weight:500}
.hnb details.hnb-more{display:inline-block;vertical-align:top;max-width:100%}
.hnb details.hnb-more>summary{cursor:pointer;display:inline}
.hnb details.hnb-more>summary::after{content:" ▸";opacity:.6}
.hnb details.hnb-more[open]>summary::after{content:" ▾"}
.hnb pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:24em;overflow:auto;margin:4px 0;padding:6px 8px;font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.9em;color:inherit;background:var(--jp-layout-color2,rgba(128,128,128,.12));border-radius:3px}
.hnb .hnb-row a{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-log{font-size:.93em;padding:3px 0}
.hnb .hnb-log>summary{cursor:pointer}
.hnb .hnb-answer{padding:10px 0 4px}
.hnb .hnb-answer>:first-child{margin-top:0}
.hnb .hnb-answer pre{max-height:none}
.hnb .hnb-answer table{border-collapse:collapse;margin:.6em 0;display:block;overflow-x:auto}
.hnb .hnb-answer th,.hnb .hnb-answer td{padding:3px 10px;border:1px solid var(--jp-border-color2,rgba(128,128,128,.35));text-align:left}
.hnb .hnb-answer a{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-total{font-size:.86em;padding-top:6px}
.hnb-you{margin:14px 0 2px;padding:4px 12px;border-left:3px solid #0072b2;max-width:60em;overflow-wrap:anywhere;font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:var(--jp-content-font-size1,14px);line-height:1.5;color:var(--jp-content-font-color1,inherit)}
.hnb-you p{margin:0 0 .4em}
.hnb-you b{color:var(--jp-content-font-color2,inherit);font-size:.86em}
.hnb-strip{display:block!important;max-width:60em;margin:2px 0 10px;font:12px/1.4 var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-content-font-color1,inherit)}
.hnb-strip .hnb-lane{display:flex;align-items:center;margin:1px 0}
.hnb-strip .hnb-who{flex:0 0 9.5em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding-right:6px}
.hnb-strip .hnb-track{position:relative;flex:1;height:14px;background:var(--jp-layout-color2,rgba(128,128,128,.14))}
.hnb-strip i{position:absolute;top:1px;bottom:1px;min-width:2px}
.hnb-strip i.hnb-turn{top:4px;bottom:4px}
.hnb-strip i.hnb-error{top:-1px;bottom:-1px;outline:1px solid var(--jp-content-font-color1,#000)}
.hnb-strip .hnb-ends{display:flex;justify-content:space-between;padding-left:9.5em;color:var(--jp-content-font-color2,inherit)}
.hnb-strip i.hnb-turn{background:#009E73}
.hnb-strip i.hnb-wait{background:repeating-linear-gradient(0deg,transparent 0 2px,#fff9 2px 3px),#CC79A7}
.hnb-strip i.hnb-replayed{background:radial-gradient(#fffc 1px,transparent 1.3px) 0 0/5px 5px,#999999}
.hnb-strip i.hnb-model{background:#0072B2}
.hnb-strip i.hnb-tool{background:repeating-linear-gradient(135deg,transparent 0 3px,#fff9 3px 4.5px),#E69F00}
.hnb-strip i.hnb-stopped{background:repeating-linear-gradient(45deg,transparent 0 3px,#0006 3px 4.5px),#F0E442}
.hnb-strip i.hnb-error{background:repeating-linear-gradient(45deg,transparent 0 3px,#fff9 3px 4px),repeating-linear-gradient(135deg,transparent 0 3px,#fff9 3px 4px),#D55E00}
.hnb-strip i.hnb-running{background:repeating-linear-gradient(90deg,transparent 0 3px,#fff9 3px 4px),#56B4E9}
`,""]),o.d(e,{},{A:i})},314(n){n.exports=function(n){var e=[];return e.toString=function(){return this.map(function(e){var o="",r=void 0!==e[5];return e[4]&&(o+="@supports (".concat(e[4],") {")),e[2]&&(o+="@media ".concat(e[2]," {")),r&&(o+="@layer".concat(e[5].length>0?" ".concat(e[5]):""," {")),o+=n(e),r&&(o+="}"),e[2]&&(o+="}"),e[4]&&(o+="}"),o}).join("")},e.i=function(n,o,r,t,a){"string"==typeof n&&(n=[[null,n,void 0]]);var i={};if(r)for(var p=0;p<this.length;p++){var l=this[p][0];null!=l&&(i[l]=!0)}for(var s=0;s<n.length;s++){var b=[].concat(n[s]);r&&i[b[0]]||(void 0!==a&&(void 0===b[5]||(b[1]="@layer".concat(b[5].length>0?" ".concat(b[5]):""," {").concat(b[1],"}")),b[5]=a),o&&(b[2]&&(b[1]="@media ".concat(b[2]," {").concat(b[1],"}")),b[2]=o),t&&(b[4]?(b[1]="@supports (".concat(b[4],") {").concat(b[1],"}"),b[4]=t):b[4]="".concat(t)),e.push(b))}},e}},601(n){n.exports=function(n){return n[1]}},72(n){var e=[];function o(n){for(var o=-1,r=0;r<e.length;r++)if(e[r].identifier===n){o=r;break}return o}function r(n,r){for(var t={},a=[],i=0;i<n.length;i++){var p=n[i],l=r.base?p[0]+r.base:p[0],s=t[l]||0,b="".concat(l," ").concat(s);t[l]=s+1;var h=o(b),c={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==h)e[h].references++,e[h].updater(c);else{var d=function(n,e){var o=e.domAPI(e);return o.update(n),function(e){e?(e.css!==n.css||e.media!==n.media||e.sourceMap!==n.sourceMap||e.supports!==n.supports||e.layer!==n.layer)&&o.update(n=e):o.remove()}}(c,r);r.byIndex=i,e.splice(i,0,{identifier:b,updater:d,references:1})}a.push(b)}return a}n.exports=function(n,t){var a=r(n=n||[],t=t||{});return function(n){n=n||[];for(var i=0;i<a.length;i++){var p=o(a[i]);e[p].references--}for(var l=r(n,t),s=0;s<a.length;s++){var b=o(a[s]);0===e[b].references&&(e[b].updater(),e.splice(b,1))}a=l}}},659(n){var e={};n.exports=function(n,o){var r=function(n){if(void 0===e[n]){var o=document.querySelector(n);if(window.HTMLIFrameElement&&o instanceof window.HTMLIFrameElement)try{o=o.contentDocument.head}catch(n){o=null}e[n]=o}return e[n]}(n);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(o)}},540(n){n.exports=function(n){var e=document.createElement("style");return n.setAttributes(e,n.attributes),n.insert(e,n.options),e}},56(n,e,o){n.exports=function(n){var e=o.nc;e&&n.setAttribute("nonce",e)}},825(n){n.exports=function(n){if("u"<typeof document)return{update:function(){},remove:function(){}};var e=n.insertStyleElement(n);return{update:function(o){var r,t,a;r="",o.supports&&(r+="@supports (".concat(o.supports,") {")),o.media&&(r+="@media ".concat(o.media," {")),(t=void 0!==o.layer)&&(r+="@layer".concat(o.layer.length>0?" ".concat(o.layer):""," {")),r+=o.css,t&&(r+="}"),o.media&&(r+="}"),o.supports&&(r+="}"),(a=o.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),n.styleTagTransform(r,e,n.options)},remove:function(){var n;null===(n=e).parentNode||n.parentNode.removeChild(n)}}}},113(n){n.exports=function(n,e){if(e.styleSheet)e.styleSheet.cssText=n;else{for(;e.firstChild;)e.removeChild(e.firstChild);e.appendChild(document.createTextNode(n))}}},959(n,e,o){var r=o(72),t=o.n(r),a=o(825),i=o.n(a),p=o(659),l=o.n(p),s=o(56),b=o.n(s),h=o(540),c=o.n(h),d=o(113),f=o.n(d),u=o(646),m={};m.styleTagTransform=f(),m.setAttributes=b(),m.insert=l().bind(null,"head"),m.domAPI=i(),m.insertStyleElement=c(),t()(u.A,m),u.A&&u.A.locals&&u.A.locals}}]);
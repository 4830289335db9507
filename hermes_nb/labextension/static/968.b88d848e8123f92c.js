"use strict";(self.rspackChunkhermes_nb=self.rspackChunkhermes_nb||[]).push([[968],{802(n,e,o){var r=o(645),t=o.n(r),a=o(278),i=o.n(a),p=o(354),b=i()(t());b.i(p.A),b.push([n.id,`/* The look of hermes_nb's widgets and cards: Lab's own variables, a mark beside every colour. */
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
  content: "⚠ " / "";
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
  content: "↳ " / "fork: ";
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
  content: "■ " / "";
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

[data-jp-theme-light="false"] .cm-line .hnb-option {
  color: #64b5f6;
}

.cm-line .hnb-variable {
  border-radius: 2px;
  color: var(--jp-mirror-editor-variable-2-color);
  background: var(--jp-layout-color2);
  outline: 1px solid var(--jp-border-color2);
}

/* Lab's own blue is too dark on that background. */
[data-jp-theme-light="false"] .cm-line .hnb-variable {
  color: #90caf9;
}

@media (prefers-reduced-motion: reduce) {
  .hnb-panel .hnb-button {
    transition: none;
  }
}
`,""]),o.d(e,{},{A:b})},354(n,e,o){var r=o(645),t=o.n(r),a=o(278),i=(o.n(a))()(t());i.push([n.id,`/* The look of what is saved in notebooks, from its Python modules: written by scripts/extensions.py. */
.hnb{font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:var(--jp-content-font-size1,14px);line-height:1.5;color:var(--jp-content-font-color1,inherit);max-width:60em;overflow-wrap:anywhere}
.hnb.hnb table.hnb-steps{table-layout:fixed;width:100%;border-collapse:collapse;border:none;margin:0 0 6px;font-size:.93em}
.hnb.hnb table.hnb-steps>tbody>tr{background:none;border:none;border-bottom:1px solid var(--jp-border-color2,rgba(128,128,128,.25))}
.hnb.hnb table.hnb-steps>tbody>tr>td{padding:2px 4px;border:none;text-align:left;vertical-align:top;line-height:22px;max-width:none;overflow:hidden;white-space:nowrap}
.hnb.hnb table.hnb-steps>tbody>tr>td.hnb-icon{width:16px;text-align:center;padding:2px 0;color:var(--jp-content-font-color2,inherit)}
.hnb.hnb table.hnb-steps>tbody>tr>td.hnb-time{width:76px;text-align:right;font-variant-numeric:tabular-nums;color:var(--jp-content-font-color2,inherit)}
.hnb.hnb table.hnb-steps>tbody>tr.hnb-ok>td.hnb-icon{color:var(--jp-success-color1,#2e7d32)}
.hnb.hnb table.hnb-steps>tbody>tr.hnb-bad>td.hnb-icon,.hnb .hnb-bad .hnb-gist,.hnb .hnb-error{color:var(--jp-error-color1,#c2321f)}
.hnb .hnb-one,.hnb .hnb-step>td>details>summary{display:flex;gap:.6em;align-items:baseline;white-space:nowrap;overflow:hidden;height:22px;line-height:22px}
.hnb .hnb-step>td>details>summary{cursor:pointer;list-style:none}
.hnb .hnb-step>td>details>summary::-webkit-details-marker{display:none}
.hnb .hnb-step>td>details>summary::after{content:"▸";flex:none;opacity:.6}
.hnb .hnb-step>td>details[open]>summary::after{content:"▾"}
.hnb .hnb-call,.hnb .hnb-gist{flex:0 1 auto;min-width:0;overflow:hidden;text-overflow:ellipsis}
.hnb .hnb-call{flex:none;max-width:62%}
.hnb .hnb-call:last-child{max-width:100%;flex:0 1 auto}
.hnb.hnb code.hnb-call{font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.95em;background:none;color:inherit;padding:0;border:none;white-space:nowrap}
.hnb .hnb-gist,.hnb .hnb-dim,.hnb .hnb-total,.hnb .hnb-label{color:var(--jp-content-font-color2,inherit)}
.hnb .hnb-kind-heading .hnb-call,.hnb .hnb-kind-ending .hnb-call{font-weight:600}
.hnb .hnb-detail{margin:2px 0 8px;white-space:normal}
.hnb .hnb-label{font-size:.88em}
.hnb.hnb pre{white-space:pre;max-height:24em;overflow:auto;margin:2px 0;padding:6px 8px;border:none;border-radius:3px;font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.93em;line-height:1.45;color:inherit;background:var(--jp-layout-color2,rgba(128,128,128,.12))}
.hnb.hnb .hnb-detail pre{white-space:pre-wrap}
.hnb .hnb-ink-bad{color:var(--jp-error-color1,#c2321f)}
.hnb .hnb-ink-good{color:var(--jp-success-color1,#2e7d32)}
.hnb .hnb-ink-link{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-ink-meta{color:var(--jp-mirror-editor-string-color,#8a5a00)}
.hnb .hnb-ink-mark{background:var(--jp-warn-color2,#ffe08a);color:#000}
.hnb.hnb pre code{background:none;padding:0;border:none;color:inherit;white-space:inherit;font-size:1em}
.hnb.hnb p code,.hnb.hnb li code,.hnb.hnb .hnb-answer td code{background:var(--jp-layout-color2,rgba(128,128,128,.12));color:inherit;padding:1px 4px;border-radius:2px;font-size:.93em}
.hnb.hnb table.hnb-grid,.hnb.hnb .hnb-prose table{display:block;width:max-content;max-width:100%;overflow-x:auto;border-collapse:collapse;border:none;margin:.3em 0;font-size:.93em;line-height:1.45}
.hnb.hnb .hnb-prose table{margin:.6em 0}
.hnb.hnb table.hnb-grid tr,.hnb.hnb .hnb-prose table tr{background:none}
.hnb.hnb table.hnb-grid th,.hnb.hnb table.hnb-grid td,.hnb.hnb .hnb-prose th,.hnb.hnb .hnb-prose td{padding:3px 10px;border:1px solid var(--jp-border-color2,rgba(128,128,128,.35));text-align:left;vertical-align:top;overflow-wrap:normal;word-break:normal;max-width:28em;white-space:normal;line-height:inherit}
.hnb.hnb table.hnb-grid th,.hnb.hnb .hnb-prose th{font-weight:600;white-space:nowrap}
.hnb.hnb table.hnb-grid .hnb-number,.hnb.hnb .hnb-prose [style*="right"]{text-align:right;font-variant-numeric:tabular-nums}
.hnb.hnb .hnb-prose [style*="center"]{text-align:center}
.hnb.hnb table.hnb-pairs th,.hnb.hnb table.hnb-pairs td{border:none;padding:1px 12px 1px 0;white-space:pre-wrap}
.hnb.hnb table.hnb-pairs th{font-weight:400;color:var(--jp-content-font-color2,inherit)}
.hnb img.hnb-picture{display:block;max-width:100%;height:auto;margin:4px 0;background:#fff}
.hnb .hnb-prose{padding:6px 0 2px}
.hnb .hnb-prose>:first-child{margin-top:0}
.hnb.hnb .hnb-prose pre{max-height:none;margin:.5em 0;border:1px solid var(--jp-border-color2,rgba(128,128,128,.35))}
.hnb.hnb .hnb-prose h1{font-size:1.3em}
.hnb.hnb .hnb-prose h2{font-size:1.15em}
.hnb.hnb .hnb-prose h3,.hnb.hnb .hnb-prose h4,.hnb.hnb .hnb-prose h5,.hnb.hnb .hnb-prose h6{font-size:1.05em}
.hnb.hnb .hnb-prose blockquote{margin:.6em 0;padding:0 0 0 10px;border-left:3px solid var(--jp-border-color2,rgba(128,128,128,.35))}
.hnb a{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-total{font-size:.86em;padding-top:4px}
.hnb .hnb-total>summary{cursor:pointer}
.hnb-you{margin:14px 0 2px;padding:4px 12px;border-left:3px solid #0072b2;max-width:60em;overflow-wrap:anywhere;font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:var(--jp-content-font-size1,14px);line-height:1.5;color:var(--jp-content-font-color1,inherit)}
.hnb-you p{margin:0 0 .4em}
.hnb-you b{color:var(--jp-content-font-color2,inherit);font-size:.86em}
.hnb-strip.hnb-strip table{display:table;table-layout:fixed;width:100%;max-width:60em;border-collapse:collapse;border:none;margin:2px 0 8px;font:12px/1.4 var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-content-font-color1,inherit)}
.hnb-strip.hnb-strip table tr{background:none;border:none}
.hnb-strip.hnb-strip table td{padding:1px 0;border:none;text-align:left;max-width:none;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;line-height:16px}
.hnb-strip.hnb-strip table td.hnb-who{width:11em;padding-right:8px}
.hnb-strip.hnb-strip table td.hnb-took{width:6em;text-align:right;font-variant-numeric:tabular-nums;color:var(--jp-content-font-color2,inherit)}
.hnb-strip.hnb-strip code{display:none}
.hnb-strip .hnb-track{position:relative;height:14px;background:var(--jp-layout-color2,rgba(128,128,128,.14))}
.hnb-strip i{position:absolute;top:1px;bottom:1px;min-width:2px}
.hnb-strip i.hnb-turn{top:4px;bottom:4px}
.hnb-strip i.hnb-error{top:-1px;bottom:-1px;outline:1px solid var(--jp-content-font-color1,#000)}
.hnb-strip>details{margin-bottom:4px}
.hnb-strip>details>summary{cursor:pointer;font-size:12px;color:var(--jp-content-font-color2,inherit)}
.hnb-strip i.hnb-turn{background:#009E73}
.hnb-strip i.hnb-wait{background:repeating-linear-gradient(0deg,transparent 0 2px,#fff9 2px 3px),#CC79A7}
.hnb-strip i.hnb-replayed{background:radial-gradient(#fffc 1px,transparent 1.3px) 0 0/5px 5px,#999999}
.hnb-strip i.hnb-model{background:#0072B2}
.hnb-strip i.hnb-tool{background:repeating-linear-gradient(135deg,transparent 0 3px,#fff9 3px 4.5px),#E69F00}
.hnb-strip i.hnb-stopped{background:repeating-linear-gradient(45deg,transparent 0 3px,#0006 3px 4.5px),#F0E442}
.hnb-strip i.hnb-error{background:repeating-linear-gradient(45deg,transparent 0 3px,#fff9 3px 4px),repeating-linear-gradient(135deg,transparent 0 3px,#fff9 3px 4px),#D55E00}
.hnb-strip i.hnb-running{background:repeating-linear-gradient(90deg,transparent 0 3px,#fff9 3px 4px),#56B4E9}
`,""]),o.d(e,{},{A:i})},278(n){n.exports=function(n){var e=[];return e.toString=function(){return this.map(function(e){var o="",r=void 0!==e[5];return e[4]&&(o+="@supports (".concat(e[4],") {")),e[2]&&(o+="@media ".concat(e[2]," {")),r&&(o+="@layer".concat(e[5].length>0?" ".concat(e[5]):""," {")),o+=n(e),r&&(o+="}"),e[2]&&(o+="}"),e[4]&&(o+="}"),o}).join("")},e.i=function(n,o,r,t,a){"string"==typeof n&&(n=[[null,n,void 0]]);var i={};if(r)for(var p=0;p<this.length;p++){var b=this[p][0];null!=b&&(i[b]=!0)}for(var h=0;h<n.length;h++){var l=[].concat(n[h]);r&&i[l[0]]||(void 0!==a&&(void 0===l[5]||(l[1]="@layer".concat(l[5].length>0?" ".concat(l[5]):""," {").concat(l[1],"}")),l[5]=a),o&&(l[2]&&(l[1]="@media ".concat(l[2]," {").concat(l[1],"}")),l[2]=o),t&&(l[4]?(l[1]="@supports (".concat(l[4],") {").concat(l[1],"}"),l[4]=t):l[4]="".concat(t)),e.push(l))}},e}},645(n){n.exports=function(n){return n[1]}},292(n){var e=[];function o(n){for(var o=-1,r=0;r<e.length;r++)if(e[r].identifier===n){o=r;break}return o}function r(n,r){for(var t={},a=[],i=0;i<n.length;i++){var p=n[i],b=r.base?p[0]+r.base:p[0],h=t[b]||0,l="".concat(b," ").concat(h);t[b]=h+1;var s=o(l),d={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==s)e[s].references++,e[s].updater(d);else{var c=function(n,e){var o=e.domAPI(e);return o.update(n),function(e){e?(e.css!==n.css||e.media!==n.media||e.sourceMap!==n.sourceMap||e.supports!==n.supports||e.layer!==n.layer)&&o.update(n=e):o.remove()}}(d,r);r.byIndex=i,e.splice(i,0,{identifier:l,updater:c,references:1})}a.push(l)}return a}n.exports=function(n,t){var a=r(n=n||[],t=t||{});return function(n){n=n||[];for(var i=0;i<a.length;i++){var p=o(a[i]);e[p].references--}for(var b=r(n,t),h=0;h<a.length;h++){var l=o(a[h]);0===e[l].references&&(e[l].updater(),e.splice(l,1))}a=b}}},383(n){var e={};n.exports=function(n,o){var r=function(n){if(void 0===e[n]){var o=document.querySelector(n);if(window.HTMLIFrameElement&&o instanceof window.HTMLIFrameElement)try{o=o.contentDocument.head}catch(n){o=null}e[n]=o}return e[n]}(n);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(o)}},88(n){n.exports=function(n){var e=document.createElement("style");return n.setAttributes(e,n.attributes),n.insert(e,n.options),e}},884(n,e,o){n.exports=function(n){var e=o.nc;e&&n.setAttribute("nonce",e)}},893(n){n.exports=function(n){if("u"<typeof document)return{update:function(){},remove:function(){}};var e=n.insertStyleElement(n);return{update:function(o){var r,t,a;r="",o.supports&&(r+="@supports (".concat(o.supports,") {")),o.media&&(r+="@media ".concat(o.media," {")),(t=void 0!==o.layer)&&(r+="@layer".concat(o.layer.length>0?" ".concat(o.layer):""," {")),r+=o.css,t&&(r+="}"),o.media&&(r+="}"),o.supports&&(r+="}"),(a=o.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),n.styleTagTransform(r,e,n.options)},remove:function(){var n;null===(n=e).parentNode||n.parentNode.removeChild(n)}}}},997(n){n.exports=function(n,e){if(e.styleSheet)e.styleSheet.cssText=n;else{for(;e.firstChild;)e.removeChild(e.firstChild);e.appendChild(document.createTextNode(n))}}},619(n,e,o){var r=o(292),t=o.n(r),a=o(893),i=o.n(a),p=o(383),b=o.n(p),h=o(884),l=o.n(h),s=o(88),d=o.n(s),c=o(997),f=o.n(c),u=o(802),m={};m.styleTagTransform=f(),m.setAttributes=l(),m.insert=b().bind(null,"head"),m.domAPI=i(),m.insertStyleElement=d(),t()(u.A,m),u.A&&u.A.locals&&u.A.locals}}]);
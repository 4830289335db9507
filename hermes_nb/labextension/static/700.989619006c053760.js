"use strict";(self.rspackChunkhermes_nb=self.rspackChunkhermes_nb||[]).push([[700],{646(o,e,r){var n=r(601),t=r.n(n),a=r(314),i=(r.n(a))()(t());i.push([o.id,`/* The look of hermes_nb's widgets and cards: Lab's own variables, a mark beside every colour. */
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

.hnb-top {
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

.hnb-where {
  overflow: hidden;
  color: var(--jp-ui-font-color2);
  text-overflow: ellipsis;
  white-space: nowrap;
}

.hnb-status:empty {
  display: none;
}

.hnb-status {
  color: var(--jp-ui-font-color2);
}

.hnb-alert {
  padding: 6px 8px;
  border-left: 3px solid var(--jp-error-color1);
  background: var(--jp-layout-color2);
}

.hnb-alert::before {
  content: '⚠ ' / '';
}

.hnb-guide {
  display: flex;
  flex-direction: column;
  align-items: flex-start;
  gap: 8px;
  padding: 8px 0;
}

.hnb-guide code {
  padding: 2px 6px;
  border: 1px solid var(--jp-border-color2);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color2);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.hnb-section {
  border-top: 1px solid var(--jp-border-color2);
}

.hnb-section > summary {
  padding: 6px 2px;
  cursor: pointer;
}

.hnb-count {
  margin-left: 6px;
  padding: 0 6px;
  border-radius: 8px;
  background: var(--jp-layout-color3);
  font-size: var(--jp-ui-font-size0);
}

.hnb-count:empty {
  display: none;
}

.hnb-empty {
  padding: 0 2px 8px 14px;
  color: var(--jp-ui-font-color2);
}

.hnb-list {
  margin: 0;
  padding: 0 0 4px;
  list-style: none;
}

.hnb-forks {
  margin: 4px 0 0 6px;
  padding: 0 0 0 8px;
  border-left: 2px solid var(--jp-border-color1);
}

.hnb-row {
  padding: 6px 2px 6px 14px;
}

.hnb-forks > .hnb-row {
  padding-left: 4px;
}

.hnb-name {
  display: -webkit-box;
  overflow: hidden;
  font-weight: 500;
  overflow-wrap: anywhere;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 2;
}

.hnb-forks > .hnb-row > .hnb-name::before {
  content: '↳ ' / 'fork: ';
}

.hnb-about {
  color: var(--jp-ui-font-color2);
  font-size: var(--jp-ui-font-size0);
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}

.hnb-question {
  margin-top: 4px;
  padding-left: 8px;
  border-left: 3px solid var(--jp-warn-color1);
}

.hnb-buttons {
  display: flex;
  flex-wrap: wrap;
  gap: 4px;
  margin-top: 4px;
}

.hnb-button {
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

.hnb-make {
  margin: 0 0 10px 14px;
}

.hnb-button:hover:not(:disabled) {
  background: var(--jp-layout-color3);
}

.hnb-button:disabled {
  opacity: 0.6;
  cursor: default;
}

.hnb-panel :focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}

.hnb-stop::before {
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
  .hnb-button {
    transition: none;
  }
}
`,""]),r.d(e,{},{A:i})},314(o){o.exports=function(o){var e=[];return e.toString=function(){return this.map(function(e){var r="",n=void 0!==e[5];return e[4]&&(r+="@supports (".concat(e[4],") {")),e[2]&&(r+="@media ".concat(e[2]," {")),n&&(r+="@layer".concat(e[5].length>0?" ".concat(e[5]):""," {")),r+=o(e),n&&(r+="}"),e[2]&&(r+="}"),e[4]&&(r+="}"),r}).join("")},e.i=function(o,r,n,t,a){"string"==typeof o&&(o=[[null,o,void 0]]);var i={};if(n)for(var p=0;p<this.length;p++){var l=this[p][0];null!=l&&(i[l]=!0)}for(var s=0;s<o.length;s++){var c=[].concat(o[s]);n&&i[c[0]]||(void 0!==a&&(void 0===c[5]||(c[1]="@layer".concat(c[5].length>0?" ".concat(c[5]):""," {").concat(c[1],"}")),c[5]=a),r&&(c[2]&&(c[1]="@media ".concat(c[2]," {").concat(c[1],"}")),c[2]=r),t&&(c[4]?(c[1]="@supports (".concat(c[4],") {").concat(c[1],"}"),c[4]=t):c[4]="".concat(t)),e.push(c))}},e}},601(o){o.exports=function(o){return o[1]}},72(o){var e=[];function r(o){for(var r=-1,n=0;n<e.length;n++)if(e[n].identifier===o){r=n;break}return r}function n(o,n){for(var t={},a=[],i=0;i<o.length;i++){var p=o[i],l=n.base?p[0]+n.base:p[0],s=t[l]||0,c="".concat(l," ").concat(s);t[l]=s+1;var d=r(c),u={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==d)e[d].references++,e[d].updater(u);else{var f=function(o,e){var r=e.domAPI(e);return r.update(o),function(e){e?(e.css!==o.css||e.media!==o.media||e.sourceMap!==o.sourceMap||e.supports!==o.supports||e.layer!==o.layer)&&r.update(o=e):r.remove()}}(u,n);n.byIndex=i,e.splice(i,0,{identifier:c,updater:f,references:1})}a.push(c)}return a}o.exports=function(o,t){var a=n(o=o||[],t=t||{});return function(o){o=o||[];for(var i=0;i<a.length;i++){var p=r(a[i]);e[p].references--}for(var l=n(o,t),s=0;s<a.length;s++){var c=r(a[s]);0===e[c].references&&(e[c].updater(),e.splice(c,1))}a=l}}},659(o){var e={};o.exports=function(o,r){var n=function(o){if(void 0===e[o]){var r=document.querySelector(o);if(window.HTMLIFrameElement&&r instanceof window.HTMLIFrameElement)try{r=r.contentDocument.head}catch(o){r=null}e[o]=r}return e[o]}(o);if(!n)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");n.appendChild(r)}},540(o){o.exports=function(o){var e=document.createElement("style");return o.setAttributes(e,o.attributes),o.insert(e,o.options),e}},56(o,e,r){o.exports=function(o){var e=r.nc;e&&o.setAttribute("nonce",e)}},825(o){o.exports=function(o){if("u"<typeof document)return{update:function(){},remove:function(){}};var e=o.insertStyleElement(o);return{update:function(r){var n,t,a;n="",r.supports&&(n+="@supports (".concat(r.supports,") {")),r.media&&(n+="@media ".concat(r.media," {")),(t=void 0!==r.layer)&&(n+="@layer".concat(r.layer.length>0?" ".concat(r.layer):""," {")),n+=r.css,t&&(n+="}"),r.media&&(n+="}"),r.supports&&(n+="}"),(a=r.sourceMap)&&"u">typeof btoa&&(n+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),o.styleTagTransform(n,e,o.options)},remove:function(){var o;null===(o=e).parentNode||o.parentNode.removeChild(o)}}}},113(o){o.exports=function(o,e){if(e.styleSheet)e.styleSheet.cssText=o;else{for(;e.firstChild;)e.removeChild(e.firstChild);e.appendChild(document.createTextNode(o))}}},959(o,e,r){var n=r(72),t=r.n(n),a=r(825),i=r.n(a),p=r(659),l=r.n(p),s=r(56),c=r.n(s),d=r(540),u=r.n(d),f=r(113),b=r.n(f),h=r(646),v={};v.styleTagTransform=b(),v.setAttributes=c(),v.insert=l().bind(null,"head"),v.domAPI=i(),v.insertStyleElement=u(),t()(h.A,v),h.A&&h.A.locals&&h.A.locals}}]);
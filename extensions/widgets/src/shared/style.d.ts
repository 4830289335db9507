// A style sheet that a script imports is its text (build.mjs).
declare module "*.css" {
  const text: string;
  export default text;
}

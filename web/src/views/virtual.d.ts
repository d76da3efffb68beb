declare module "virtual:views" {
  const views: import("./view").ViewDefinition[];
  export default views;
}
declare module "*.css" {
  const text: string;
  export default text;
}

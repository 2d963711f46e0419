// Types of PostgreSQL extensions that a hidden column may have; PostGraphile must know them to look past them.

export const ExtensionTypesPlugin: GraphileConfig.Plugin = {
  name: "ExtensionTypesPlugin",
  gather: {
    namespace: "extensionTypes",
    hooks: {
      pgCodecs_findPgCodec(info, event) {
        if (event.pgType.typname === "cube") event.pgCodec ??= info.lib.dataplanPg.TYPES.text;
      },
    },
  },
};

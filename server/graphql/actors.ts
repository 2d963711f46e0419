// Makes the argument that names the actor optional: for a person it defaults to the caller, and for an API
// key the rules decide whether it is required. The tag @actor in a function's comment names the argument.
export const ActorsPlugin: GraphileConfig.Plugin = {
  name: "ActorsPlugin",
  gather: {
    hooks: {
      pgProcedures_PgResourceOptions(_info, { resourceOptions }) {
        const actor = resourceOptions.extensions?.tags?.["actor"];
        for (const parameter of resourceOptions.parameters ?? []) {
          if (parameter.name === actor) parameter.notNull = false;
        }
      },
    },
  },
};

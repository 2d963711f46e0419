// The argument that names who acts may be left out: a person who calls is the one. Whether an API key may leave it out is
// decided by the rules, in which the tag @actor of a function's comment names the argument.
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

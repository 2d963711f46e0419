// Names, in the words of REST: needs, need(needId:), organization, concernsNeed, open, in_progress.

/** The inflector `this` that the overrides below are called with. */
type Inflection = GraphileBuild.Inflection;

const RELATION_SUFFIX = /_(id|uri|code)$/;

export const NamingPlugin: GraphileConfig.Plugin = {
  name: "NamingPlugin",
  inflection: {
    replace: {
      _allRows(this: Inflection, _previous, _preset, resource) {
        return this.camelCase(this.pluralize(this.tableType(resource.codec)));
      },
      rowByUnique(this: Inflection, previous, _preset, details) {
        if (!details.unique.isPrimary) return previous!(details);
        return this.camelCase(this.tableType(details.resource.codec));
      },
      // concerns_need_id becomes concernsNeed; org_uri, named like the key it refers to, organization.
      _singleRelationRaw(this: Inflection, previous, _preset, details) {
        const relation = details.registry.pgRelations[details.codec.name]?.[details.relationName];
        const [local, ...others] = relation?.localAttributes ?? [];
        if (
          !relation ||
          local === undefined ||
          others.length > 0 ||
          relation.extensions?.tags?.["fieldName"]
        ) {
          return previous!(details);
        }
        const type = this.tableType(relation.remoteResource.codec);
        if (local === relation.remoteAttributes[0]) return type;
        const role = local.replace(RELATION_SUFFIX, "");
        return role === local ? `${role}-${type}` : role;
      },
      // needs, commitments, engagementClaims; a second reference from the same table keeps its longer name.
      _manyRelationRaw(this: Inflection, previous, _preset, details) {
        const relations = details.registry.pgRelations[details.codec.name] ?? {};
        const relation = relations[details.relationName];
        if (!relation || relation.extensions?.tags?.["foreignFieldName"]) return previous!(details);
        const rivals = Object.values(relations).filter(
          (other) => other.isReferencee && other.remoteResource === relation.remoteResource,
        );
        const firstOfThem =
          rivals.length === 1 || relation.remoteAttributes[0] === relation.localAttributes[0];
        return firstOfThem
          ? this.pluralize(this.tableType(relation.remoteResource.codec))
          : previous!(details);
      },
      // search_churches becomes the field churches.
      customQueryField(this: Inflection, previous, _preset, details) {
        return this.camelCase(previous!(details).replace(/^search(?=[A-Z])/, ""));
      },
      // request-sent is request_sent: names have no hyphens.
      enumValue(this: Inflection, previous, _preset, value, codec) {
        return previous!(typeof value === "string" ? value.replaceAll("-", "_") : value, codec);
      },
      // A list that a function returns has the function's name, without "List" at the end.
      listField(_previous, _preset, name) {
        return name;
      },
    },
  },
};

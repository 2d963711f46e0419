// The wire form of a record, and the statements that read and write it: all of it follows from records/.
import { z } from "zod";
import { columns, enums } from "../../db/catalog.ts";
import { codeDefinitions } from "../../graph/ontology.ts";
import { fieldsOf, idOf } from "../../records/record.ts";
import type { Field, RecordDescription } from "../../records/record.ts";
import type { Input } from "./route.ts";
import * as s from "./schemas.ts";

type Column = { type: string; nullable?: true; initially?: string };

function columnsOf({ table }: RecordDescription): Readonly<Record<string, Column>> {
  return (columns as Record<string, Record<string, Column>>)[table] ?? {};
}

/** The statuses of a record, with what each means. */
export function statusOf({ statuses, fields }: RecordDescription) {
  const values = (enums as Record<string, readonly string[]>)[statuses] ?? [];
  const definitions = codeDefinitions(fields.status.graph);
  return s.oneOf(values).meta({
    description: values.map((value) => `${value}: ${definitions.get(value) ?? ""}`).join(" "),
  });
}

function typeOf(record: RecordDescription, { type }: Field, side: "given" | "shown"): z.ZodType {
  return type === "status" ? statusOf(record) : s.FIELD_TYPES[type][side];
}

/** An item as it is returned. */
export function itemOf(record: RecordDescription, id: string) {
  const known = columnsOf(record);
  const shown = fieldsOf(record).map((field): [string, z.ZodType] => {
    const type = typeOf(record, field, "shown");
    return [field.name, described(known[field.column]?.nullable ? type.nullable() : type, field)];
  });
  return z.object({ ...Object.fromEntries(shown), graphStatus: s.graphStatus }).meta({ id });
}

const REQUIRED: Partial<Record<Field["type"], z.ZodType>> = { name: s.requiredName, text: s.requiredText };

/** The path parameter that names one record. */
export function paramsOf(record: RecordDescription) {
  const [id] = fieldsOf(record);
  return z.object({ [id!.name]: s.uuid.describe(id!.description) });
}

/** What a caller sends to create a record. */
export function inputOf(record: RecordDescription) {
  const given = fieldsOf(record).flatMap((field): [string, z.ZodType][] => {
    if (!field.input) return [];
    const isRequired = field.input === "required";
    // An optional text may also be empty.
    const type = (isRequired && REQUIRED[field.type]) || typeOf(record, field, "given");
    return [[field.name, described(isRequired ? type : type.optional(), field)]];
  });
  return z.strictObject(Object.fromEntries(given));
}

/** Adds the field's description, except to a status, which already explains each of its values. */
function described(type: z.ZodType, { type: form, description }: Field): z.ZodType {
  return form === "status" ? type : type.meta({ description });
}

/** The status of a record that has just been created. */
export function initialStatusOf(record: RecordDescription): string {
  return columnsOf(record)["status"]?.initially ?? "";
}

/** The answer when a record has been created. */
export function createdOf(record: RecordDescription) {
  return z.object({ [idOf(record)]: s.uuid, status: z.literal(initialStatusOf(record)) });
}

/** The body that sets a record's status, and the answer. */
export function statusChangeOf(record: RecordDescription) {
  const changed = { [idOf(record)]: s.uuid, status: statusOf(record) };
  return { body: z.strictObject({ ...changed, actorEmail: s.actingEmail }), answer: z.object(changed) };
}

/**
 * The statement that creates a record; its $1 is the input. Omitted fields get the function's defaults, but
 * the actor is always passed: the rules decide whether it may be missing.
 */
export function createStatement(record: RecordDescription, input: Input): string {
  const known = columnsOf(record);
  const given = fieldsOf(record).filter(
    (field) => field.input === "actor" || input[field.name] !== undefined,
  );
  const types = given.map(({ name, column }) => `"${name}" ${known[column]!.type}`);
  const named = given.map(({ name, column }) => `${column} => given."${name}"`);
  return `
    select ${madeOf(record)}
    from jsonb_to_record($1) as given (${types.join(", ")}),
      app_public.${record.create}(${named.join(", ")}) as made`;
}

/** The statement that sets a record's status; its $1 is the input. */
export function statusStatement(record: RecordDescription): string {
  const [id] = fieldsOf(record);
  return `
    select ${madeOf(record)}
    from app_public.${record.setStatus}(
      ${id!.column} => ($1 ->> '${id!.name}')::uuid,
      status => ($1 ->> 'status')::app_public.${record.statuses},
      actor_email => $1 ->> 'actorEmail') as made`;
}

function madeOf(record: RecordDescription): string {
  const [id] = fieldsOf(record);
  return `json_build_object('${id!.name}', made.${id!.column}, 'status', made.status)::text`;
}

/** The statement that reads one record: its item in the list, with the load check's errors if rejected. */
export function recordStatement(record: RecordDescription): string {
  const id = idOf(record);
  return `
    select case
      when item."graphStatus" <> 'rejected' then row_to_json(item)
      else (select row_to_json(refused) from (
        select item.*, app_public.record_graph_errors('${record.kind}', item."${id}") as "graphErrors") as refused)
    end::text
    from rest.${record.table} as item
    where item."${id}" = ($1 ->> '${id}')::uuid`;
}

-- Commitments by their target dates, as server/graphql/orders.ts asks for them.
create index commitments_in_order_of_target_date on app_public.commitments
  ((target_completion_date is null), coalesce(target_completion_date, '1970-01-01'::date), commitment_id);

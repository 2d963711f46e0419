-- What each role may access: all privileges are revoked, then exactly these are granted.
-- api_write includes api_read; api_review and api_person include api_write (roles.sql).

revoke all on all tables in schema app_public, app_private, rest
  from public, api_read, api_write, api_review, api_person, engagement_server;
revoke all on all routines in schema app_public, app_private, rest
  from public, api_read, api_write, api_review, api_person, engagement_server;
revoke all on schema app_public, app_private, rest
  from public, api_read, api_write, api_review, api_person, engagement_server;

grant usage on schema app_public, app_private, rest to api_read;
grant usage on schema app_private to engagement_server;

-- The server's login, before it switches to an API role: it may look up a key or a session, sign persons in and out,
-- and switch to the role of its caller.
grant execute on function
  app_private.authenticate,
  app_private.note_key_uses,
  app_private.run_as,
  app_private.request_fingerprint,
  app_private.recall_answer,
  app_private.keep_answer,
  app_private.find_session,
  app_private.ask_provider,
  app_private.send_link,
  app_private.take_sign_in,
  app_private.follow_link,
  app_private.begin_session,
  app_private.end_session,
  app_private.claims_to_confirm,
  app_private.confirm_claims,
  app_private.lacking,
  app_private.graph_names,
  app_private.caller_roles,
  app_private.roles_out_of_reach,
  app_private.login_problems,
  app_private.rights_relied_on,
  app_private.database_identity,
  app_private.log_position,
  app_private.replayed_position,
  app_private.at_position
to engagement_server;
grant select, insert, update, delete on app_private.rate_limits to engagement_server;

-- Reading.
grant select on
  app_public.organizations,
  app_public.organization_roles,
  app_public.organization_permissions,
  app_public.platform_permissions,
  app_public.accelerators,
  app_public.people_groups,
  app_public.countries,
  app_public.country_names,
  app_private.names_of_countries,
  app_public.needs,
  app_public.commitments,
  app_public.engagement_claims,
  app_private.graph_records,
  app_private.dirty_records,
  app_private.dirty_references,
  app_private.graph_condition,
  app_private.graph_verification,
  app_private.record_totals,
  app_private.record_total_changes,
  app_private.changes,
  app_public.churches,
  app_private.church_words,
  app_private.church_tags,
  rest.needs,
  rest.commitments,
  rest.engagement_claims,
  rest.churches,
  rest.accelerators,
  rest.organizations,
  rest.health
to api_read;

-- The key with which a status was set is for reviewers only.
grant select (status_history_id, need_id, commitment_id, engagement_claim_id, from_status, to_status,
              changed_by_email, changed_at)
on app_public.status_history to api_read;
grant select on app_public.status_history to api_review;
grant execute on function app_public.status_history_changed_by_key_label to api_review;

-- Without the reason, which may contain an address.
grant select (state, since, looked_at, identity, turn) on app_private.graph_store to api_read;
grant select (name, revision, synced_revision) on app_private.graph_references to api_read;

grant execute on function
  app_private.current_actor,
  app_private.current_person,
  app_private.errors,
  app_private.graph_names,
  app_private.graph_owner,
  app_private.is_recent,
  app_private.refuse,
  app_private.is_rare,
  app_private.record_total,
  app_private.record_totals_by,
  app_private.is_wholly_visible,
  app_public.record_graph_status,
  app_public.record_graph_errors,
  app_public.needs_graph_status,
  app_public.needs_graph_errors,
  app_public.commitments_graph_status,
  app_public.commitments_graph_errors,
  app_public.engagement_claims_graph_status,
  app_public.engagement_claims_graph_errors
to api_read;

-- The feed of changes.
grant execute on function
  app_private.change_page,
  app_private.number_changes,
  app_private.change_position,
  app_private.changes_after,
  app_private.change_cursor,
  app_private.shown_record,
  app_private.shown_change,
  app_private.page_of_changes
to api_read;
grant execute on function
  app_private.claim_change_page,
  app_private.claims_with_similar_organizations
to api_review, api_person;

-- Lists to choose from.
grant execute on function
  app_private.trimmed,
  app_private.containing,
  app_private.parts_of,
  app_private.organizations_named,
  app_private.people_groups_named,
  app_private.country_of
to api_read;

-- Relations that no foreign key expresses.
grant execute on function
  app_public.accelerators_needs,
  app_public.accelerators_commitments,
  app_public.accelerators_engagement_claims,
  app_public.countries_needs,
  app_public.countries_commitments,
  app_public.countries_engagement_claims,
  app_public.people_groups_needs,
  app_public.people_groups_commitments,
  app_public.people_groups_engagement_claims,
  app_public.organizations_activity
to api_read;

-- Full-text search. Writing a record calls words_of for its index.
grant execute on function
  app_private.words_of,
  app_private.needs_with_words,
  app_private.commitments_with_words,
  app_private.engagement_claims_with_words
to api_read;

-- Church search, and the checks that it shares with the lifecycle.
grant execute on function
  app_public.search_churches,
  app_public.churches_geojson,
  app_private.church_page,
  app_private.church_page_in_pieces,
  app_private.church_record,
  app_private.church_fields,
  app_private.church_query_problems,
  app_private.church_limit,
  app_private.church_limit_problems,
  app_private.within_range,
  app_private.parted,
  app_private.church_conditions,
  app_private.church_tag_condition,
  app_private.church_text_query,
  app_private.church_center,
  app_private.church_chord,
  app_private.church_metres,
  app_private.church_cursor,
  app_private.read_church_cursor,
  app_private.refuse_church_cursor,
  app_private.find_churches,
  app_private.churches_in_order,
  app_private.expected_churches,
  app_private.churches_nearest,
  app_private.churches_by_rank,
  app_private.box_hull,
  app_private.fold,
  app_private.fold_all,
  app_private.postal_key,
  app_private.church_document,
  app_private.sphere_position,
  app_private.misspellings,
  app_private.distinct_items,
  app_private.problem,
  app_private.refuse_problems
to api_read;

-- Writing the lifecycle. Identifiers, initial statuses and timestamps are set by the database.
grant
  insert (org_uri, org_name, declared_by_email, need_description, accelerators,
          concerns_people_group_rop3, concerns_country_code),
  update (status)
on app_public.needs to api_write;

grant
  insert (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id,
          concerns_people_group_rop3, concerns_country_code, target_completion_date),
  update (status)
on app_public.commitments to api_write;

grant
  insert (org_uri, org_name, claimed_by_email, engagement_accelerators, people_group_rop3, people_group_name,
          people_group_rog3, country_code, country_name, description, fulfills_commitment_id),
  update (status)
on app_public.engagement_claims to api_write;

grant execute on function
  app_public.declare_need,
  app_public.update_need_status,
  app_public.declare_commitment,
  app_public.update_commitment_status,
  app_public.submit_engagement_claim,
  app_public.update_engagement_claim_status
to api_write;

-- Called by the functions above and by the policies, with the caller's rights.
grant execute on function
  app_private.authorize,
  app_private.acting_email,
  app_private.require_own_identity,
  app_private.name_actor,
  app_private.check_accelerators,
  app_private.is_email,
  app_private.is_host,
  app_private.is_http_uri,
  app_private.is_rop3,
  app_private.required_problems,
  app_private.refused_characters,
  app_private.character_problem,
  app_private.is_blank,
  app_private.longest_text,
  app_private.text_problems,
  app_private.name_problems,
  app_private.email_problems,
  app_private.http_uri_problems,
  app_private.list_problems,
  app_private.code_problems,
  app_private.date_problems,
  app_private.number_problems,
  app_private.rop3_problems(text, text),
  app_private.rop3_problems(text, text[]),
  app_private.rog3_problems,
  app_private.country_problems(text, text),
  app_private.country_problems(text, text[])
to api_write;

-- Onboarding.
grant execute on function
  app_public.claim_organization,
  app_public.check_user
to api_write;

-- People's own claims and memberships.
grant execute on function
  app_public.own_organization_claims,
  app_public.withdraw_organization_claim,
  app_public.leave_organization
to api_write;

-- Review, members, organizations and platform roles: the functions check the permission of the acting person. A
-- person who is calling needs no review scope, since their token says who they are.
grant execute on function
  app_public.review_organization_claim,
  app_public.organization_claims_for_review,
  app_public.appoint_administrator,
  app_public.set_member_role,
  app_public.set_member_status,
  app_public.organization_members,
  app_public.update_organization,
  app_public.set_platform_role,
  app_public.platform_users
to api_review, api_person;

-- What the pages of the service call.
grant execute on function app_private.own_permissions, app_private.graph_status_for_operators to api_person;

-- The queue of claims.
grant execute on function app_private.claim_queue, app_private.claim_to_review, app_private.claims_in_brief,
  app_private.has_decided_so to api_person;

-- The page of a record.
grant execute on function app_private.chain, app_private.chain_node, app_private.chain_history to api_person;

-- The page of an organization.
grant execute on function app_private.own_standing_in, app_private.claims_to_organization to api_person;

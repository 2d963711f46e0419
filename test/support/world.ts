import type pg from "pg";

/** The people and organizations that tests act as. Every e-mail address is at the domain of its organization. */
export const ORG = "https://data.example.org/org/river-mission";
export const OTHER_ORG = "https://data.example.org/org/harbor-trust";
export const admin = "admin@river.example";
export const contributor = "contributor@river.example";
export const member = "member@river.example";
export const suspended = "suspended@river.example";
export const revoked = "revoked@river.example";
/** Has no membership row, but an approved claim to ORG. */
export const claimant = "claimant@river.example";
/** Has an approved claim to ORG and a suspended membership in it. */
export const suspendedClaimant = "suspended-claimant@river.example";
export const stranger = "stranger@elsewhere.example";
export const otherAdmin = "admin@harbor.example";

/** The one code of the vocabulary that is deprecated. */
export const DEPRECATED_CODE = "OLD-ONE";

/** Fills an empty database with two organizations, people of every standing, and a small vocabulary. */
export async function buildWorld(db: pg.Pool): Promise<void> {
  await db.query(`
    insert into app_public.organizations (org_uri, name, domain) values
      ('${ORG}', 'River Mission', 'river.example'), ('${OTHER_ORG}', 'Harbor Trust', 'harbor.example');
    insert into app_public.users (email) values
      ('${admin}'), ('${contributor}'), ('${member}'), ('${suspended}'), ('${revoked}'), ('${claimant}'),
      ('${suspendedClaimant}'), ('${stranger}'), ('${otherAdmin}');
    insert into app_public.memberships (org_uri, user_id, role, status)
      select org_uri, user_id, role::app_public.organization_role, status::app_public.membership_status
      from (values
        ('${ORG}', '${admin}', 'org_admin', 'active'),
        ('${ORG}', '${contributor}', 'org_contributor', 'active'),
        ('${ORG}', '${member}', 'org_member', 'active'),
        ('${ORG}', '${suspended}', 'org_contributor', 'suspended'),
        ('${ORG}', '${revoked}', 'org_contributor', 'revoked'),
        ('${ORG}', '${suspendedClaimant}', 'org_contributor', 'suspended'),
        ('${OTHER_ORG}', '${otherAdmin}', 'org_admin', 'active')
      ) as m (org_uri, email, role, status) join app_public.users using (email);
    insert into app_public.organization_claims (user_id, org_uri, org_name, email_domain)
      select user_id, '${ORG}', 'River Mission', 'river.example'
      from app_public.users where email in ('${claimant}', '${suspendedClaimant}');
    update app_public.organization_claims set status = 'approved', granted_role = 'org_contributor';
    insert into app_public.accelerators (code, concept_uri, kind, pref_label, broader_code, deprecated_at) values
      ('PRA', 'https://ontology.example.org/core#accelerator-PRA', 'accelerator', 'Prayer', null, null),
      ('PRA-INT', 'https://ontology.example.org/core#accelerator-PRA-INT', 'function', 'Intercession', 'PRA', null),
      ('OLD-ONE', 'https://ontology.example.org/core#accelerator-OLD-ONE', 'function', 'Old', 'PRA', now());
  `);
}

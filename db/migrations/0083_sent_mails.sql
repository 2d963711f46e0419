-- Whether a worker has a mail server is told by the mails that were sent lately (app_private.has_mail_server).

create index mails_sent on app_private.mails (sent_at);

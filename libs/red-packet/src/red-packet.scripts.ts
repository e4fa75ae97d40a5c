import { activityScripts } from './activity/activity.scripts';
import { indexScripts } from './activity/index.scripts';
import { resultScripts } from './activity/results.scripts';
import { grabScripts } from './grabs/grab.scripts';
import { bucketScripts } from './buckets/bucket.scripts';
import { auditScripts } from './audit/audit.scripts';

/** All scripts of red-packet. */
export const redPacketScripts = [
  ...activityScripts,
  ...indexScripts,
  ...resultScripts,
  ...grabScripts,
  ...bucketScripts,
  ...auditScripts,
];

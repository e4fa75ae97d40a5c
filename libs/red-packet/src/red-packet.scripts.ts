import { activityScripts } from './activity/activity.scripts';
import { listScripts } from './activity/list.scripts';
import { payoutScripts } from './payouts/payout.scripts';
import { resultScripts } from './activity/results.scripts';
import { grabScripts } from './grabs/grab.scripts';
import { bucketScripts } from './buckets/bucket.scripts';
import { auditScripts } from './audit/audit.scripts';

export const redPacketScripts = [
  ...activityScripts,
  ...listScripts,
  ...payoutScripts,
  ...resultScripts,
  ...grabScripts,
  ...bucketScripts,
  ...auditScripts,
];

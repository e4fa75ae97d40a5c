import type { Section, SectionContext, SectionFactory } from '../console.types';
import { jobsSection } from './jobs';
import { limitsSection } from './limits';
import { locksSection } from './locks';
import { outboxSection } from './outbox';
import { onceSection } from './once';
import { overviewSection } from './overview';
import { queuesSection } from './queues';
import { redPacketsSection } from './red-packets';
import { rewardsSection } from './rewards';
import { streamsSection } from './streams';
import { checked } from './support';

/** Functions that create the sections, in the order of the page. */
const FACTORIES: readonly SectionFactory[] = [
  overviewSection,
  queuesSection,
  streamsSection,
  onceSection,
  locksSection,
  jobsSection,
  limitsSection,
  rewardsSection,
  redPacketsSection,
  outboxSection,
];

/**
 * Creates the sections of the libs whose modules the app imported.
 *
 * @param app `find` returns a service of the app by its name, such as `LockService`; undefined if there is none
 */
export function createSections(app: { find(className: string): unknown }, context: SectionContext): Section[] {
  return FACTORIES.flatMap((factory) => factory(app, context) ?? []).map(checked);
}

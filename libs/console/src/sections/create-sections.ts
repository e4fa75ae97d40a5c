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

/** All sections, in the order of the page. */
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
 * Makes the sections of the libs that the app imported.
 *
 * @param app finds a service of the app by the name of its class; undefined if there is none
 */
export function createSections(app: { find(className: string): unknown }, context: SectionContext): Section[] {
  return FACTORIES.flatMap((factory) => factory(app, context) ?? []);
}

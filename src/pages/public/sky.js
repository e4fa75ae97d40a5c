// The packets that fall.
const MOST_PACKETS = 24;
const EVERY_MS = 350;

/** Lets packets fall into an element while `falls()`, and calls `onTap` when one is touched. */
export function rainInto(sky, falls, onTap) {
  const drop = () => {
    if (!falls()) return sky.replaceChildren();
    if (sky.childElementCount >= MOST_PACKETS || document.hidden) return;
    const packet = document.createElement('button');
    packet.type = 'button';
    packet.className = 'packet';
    // Not in the order of the tab key: what moves cannot be aimed at, and the button below does the same.
    packet.tabIndex = -1;
    packet.style.left = `${4 + Math.random() * 80}%`;
    packet.style.animationDuration = `${3.5 + Math.random() * 3}s`;
    packet.addEventListener('animationend', () => packet.remove());
    packet.addEventListener('pointerdown', () => {
      packet.classList.add('tapped');
      onTap();
    });
    sky.append(packet);
  };
  setInterval(drop, EVERY_MS);
}

// The falling packets of the visitors' page.
const MOST_PACKETS = 24;
const EVERY_MS = 350;

/**
 * Makes packets fall in an element.
 *
 * @param {HTMLElement} sky
 * @param {() => boolean} falls returns true while packets fall
 * @param {() => void} onTap called when a packet is touched
 */
export function rainInto(sky, falls, onTap) {
  const drop = () => {
    if (!falls()) return sky.replaceChildren();
    if (sky.childElementCount >= MOST_PACKETS || document.hidden) return;
    // A packet is not a button, because the tab key cannot reach a moving element in time. The button below does the same.
    const packet = document.createElement('div');
    packet.className = 'packet';
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

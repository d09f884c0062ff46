"""Every control of the page, and the test that uses it: its function, and what stands there."""

# By selector; where the test names the control in another way, that text is given.
CONTROLS = {
    "#view": ("test_keyboard_alone", 'focus("#view")'),
    "#pause": ("test_pause_step_and_speed", '"#pause"'),
    "#step": ("test_pause_step_and_speed", '"#step"'),
    "#speed": ("test_pause_step_and_speed", '"#speed"'),
    **{
        f"[data-view={view}]": ("test_views", f'"{view}"')
        for view in ("orbit", "chase", "fpv", "top", "split")
    },
    "#record": ("test_recording_is_saved", '"#record"'),
    "#play": ("test_plays_at_the_chosen_speed", '"#play"'),
    "#pace": ("test_plays_at_the_chosen_speed", '"#pace"'),
    "#seek": ("drag", '"#seek"'),
    "#theme": ("test_display_quality_and_theme", '"#theme"'),
    "#help": ("test_display_quality_and_theme", '"#help"'),
    "#keys button": ("test_display_quality_and_theme", '"#keys button"'),
    "#all": ("fly", '"#all"'),
    "#vehicles button": ("test_arm_one_and_disarm_all", "#vehicles li:nth-child(2) button"),
    "#arm": ("test_arm_one_and_disarm_all", '"#arm"'),
    "#disarm": ("test_arm_one_and_disarm_all", '"#disarm"'),
    "#takeoff": ("in_air", '"#takeoff"'),
    "#height": ("in_air", '"#height"'),
    "#land": ("test_take_off_go_to_hold_return_and_land", '"#land"'),
    "#hold": ("test_take_off_go_to_hold_return_and_land", '"#hold"'),
    "#rtl": ("test_take_off_go_to_hold_return_and_land", '"#rtl"'),
    "#mission": ("test_a_mission_is_shown_and_flown", '"#mission"'),
    "#goto": ("test_go_to_by_click_in_view_and_map", '"#goto"'),
    "#mode": ("test_take_off_go_to_hold_return_and_land", '"#mode"'),
    "#setmode": ("test_take_off_go_to_hold_return_and_land", '"#setmode"'),
    "#reset": ("test_reset_of_one_vehicle_while_others_fly", '"#reset"'),
    "#hide": ("test_a_toast_leaves_the_horizon_free", '"#hide"'),
    "#kill": ("test_kill_asks_and_stops_the_motors", '"#kill"'),
    "#confirm button": ("answer", "#confirm button"),
    "#back": ("test_a_way_back_to_the_start_page", '"#back"'),
    "#panels": ("test_no_panel_covers_the_view", "#panels"),
    "#stickhelp": ("test_the_sticks_panel_offers_what_is_missing", '"#stickhelp"'),
    "#inforce button": ("test_what_is_disturbed_is_listed_and_ended", "#inforce button"),
    "#t-plots": ("test_plots", 'tab(fly, "plots")'),
    "#t-map": ("test_go_to_by_click_in_view_and_map", 'tab(fly, "map")'),
    "#t-navigation": ("test_a_click_is_the_next_goal", '"#t-navigation"'),
    "#navigation": ("test_a_click_is_the_next_goal", '"#navigation"'),
    "#goalheight": ("test_a_click_is_the_next_goal", '"#goalheight"'),
    "#t-params": ("test_parameters", 'tab(fly, "params")'),
    "#t-events": ("test_refusal_is_shown_with_its_reason", 'tab(fly, "events")'),
    "#t-disturb": ("test_wind_payload_rotor_charge_and_failures", 'tab(fly, "disturb")'),
    "#t-sticks": ("sticks", 'tab(fly, "sticks")'),
    "#t-race": ("test_a_lap_beside_a_ghost", 'tab(fly, "race")'),
    "#t-display": ("test_display_quality_and_theme", 'tab(fly, "display")'),
    "#signal": ("test_plots", '"#signal"'),
    "#addplot": ("test_plots", '"#addplot"'),
    "#clearplots": ("test_plots", '"#clearplots"'),
    "#plots button": ("test_plots", "[data-signal='speed [m/s]'] button"),
    "#map": ("test_go_to_by_click_in_view_and_map", '"#map"'),
    "#loadplan": ("test_a_mission_is_shown_and_flown", '"#loadplan"'),
    **{
        f"#gotoform [name={name}]": ("test_take_off_go_to_hold_return_and_land", f'("{name}", ')
        for name in "xyz"
    },
    "#gotoform button": ("test_take_off_go_to_hold_return_and_land", '"#gotoform button"'),
    "#loadparams": ("test_parameters", '"#loadparams"'),
    "#filter": ("test_parameters", '"#filter"'),
    "#params input": ("test_parameters", "#params input"),
    "#level": ("test_refusal_is_shown_with_its_reason", '"#level"'),
    **{
        f"#windform [name={name}]": ("test_wind_payload_rotor_charge_and_failures", f'("{name}", ')
        for name in "enu"
    },
    **{
        selector: ("test_wind_payload_rotor_charge_and_failures", selector)
        for selector in (
            "#windform [name=dryden]",
            "#windform button",
            "#still",
            "#payloadform [name=mass]",
            "#payloadform button",
            "#rotorform [name=rotor]",
            "#rotorform [name=share]",
            "#rotorform button",
        )
    },
    **{
        selector: ("test_charge_of_a_battery", selector)
        for selector in ("#chargeform [name=charge]", "#chargeform button")
    },
    "#failureform [name=unit]": (
        "test_wind_payload_rotor_charge_and_failures",
        "#failureform select",
    ),
    "#failureform [name=failed][value=true]": (
        "test_wind_payload_rotor_charge_and_failures",
        "'Fail'",
    ),
    "#failureform [name=failed][value=false]": (
        "test_wind_payload_rotor_charge_and_failures",
        "'Repair'",
    ),
    "#input": ("test_keyboard_sticks", '"#input"'),
    "#fly": ("test_keyboard_sticks", '"#fly"'),
    **{
        f"[data-mode={mode}]": ("test_modes_of_the_sticks", f'"{mode}"')
        for mode in ("POSCTL", "ALTCTL", "STABILIZED", "ACRO")
    },
    "#mapping SELECT": ("test_calibration_and_mapping", "#mapping select"),
    "#mapping INPUT": ("test_calibration_and_mapping", "#mapping input"),
    "#calibrate": ("test_calibration_and_mapping", '"#calibrate"'),
    "#defaults": ("test_calibration_and_mapping", '"#defaults"'),
    "#deadman": ("test_calibration_and_mapping", '"#deadman"'),
    "[data-stick=left]": ("test_touch_sticks_on_a_phone", "[data-stick={stick}]"),
    "[data-stick=right]": ("test_touch_sticks", "[data-stick=right]"),
    "#ghost": ("test_a_lap_beside_a_ghost", '"#ghost"'),
    "#ghosts": ("test_a_lap_beside_a_ghost", '"#ghosts"'),
    "#others": ("test_a_lap_beside_a_ghost", '"#others"'),
    **{
        f"#o-{name}": ("test_display_quality_and_theme", f'"{name}"')
        for name in ("trails", "names", "setpoints", "slots", "estimate", "wind", "rays", "plan")
    },
    "#quality": ("test_display_quality_and_theme", '"#quality"'),
    "#camera": ("test_images_of_cameras", '"#camera"'),
}

# What the page has, by the same selectors.
FOUND = """[...new Set([...document.querySelectorAll("button, input, select, textarea, a[href], "
    + "[tabindex], .pad")].map((element) => {
    for (const many of ["vehicles", "plots", "params", "mapping", "inforce", "confirm"])
        if (element.closest(`#${many}`)) return many === "mapping"
            ? `#mapping ${element.tagName}` : `#${many} ${element.tagName.toLowerCase()}`;
    if (element.id) return `#${element.id}`;
    const { form, name, dataset } = element, button = element.tagName === "BUTTON";
    for (const key of ["view", "mode", "stick"])
        if (dataset[key]) return `[data-${key}=${dataset[key]}]`;
    if (form && form.id) return `#${form.id} ${name ? `[name=${name}]` : "button"}`
        + (button && name ? `[value=${element.value}]` : "");
    return element.closest("#keys") ? "#keys button" : element.outerHTML;
}))]"""
